/*
 * Names come from strangers' programs. Control characters and those that turn the direction of
 * writing are shown as escapes, so that a name cannot disguise itself or disturb what stands beside it.
 */

// Cc, and the marks, embeddings, overrides and isolates of bidirectional text
const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;
const LONGEST = 400;

export function visible(name: string): string {
	return name.replace(UNSEEN, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Cut in the middle, since the ends of a name say most. */
export function shortened(name: string, longest = LONGEST): string {
	const text = visible(
		name.length > longest * 2 ? `${name.slice(0, longest)}…${name.slice(-longest)}` : name,
	);
	if (text.length <= longest) return text;
	const side = Math.floor((longest - 1) / 2);
	return `${text.slice(0, side)}…${text.slice(-side)}`;
}

const SHORT_PLACE = 34;

/** The end of a path, which is what tells two files apart; the line is never cut off. */
export function shortPlace(place: string): string {
	const parts = visible(place).split('/');
	const last = parts.slice(-2).join('/');
	if (parts.length <= 3 && place.length <= SHORT_PLACE) return parts.join('/');
	return `…/${last.length <= SHORT_PLACE ? last : parts[parts.length - 1]}`;
}
