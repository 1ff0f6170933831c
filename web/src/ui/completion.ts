/* What could be written at the cursor of a query: a profile type, a label's name, or a value. */

export interface Slot {
	readonly kind: 'type' | 'name' | 'value';
	readonly label: string; // of a value
	readonly from: number; // what is replaced
	readonly to: number;
	readonly typed: string;
}

export function slotAt(text: string, cursor: number): Slot | null {
	const open = text.indexOf('{');
	if (open < 0 || cursor <= open) {
		const to = open < 0 ? text.length : open;
		return { kind: 'type', label: '', from: 0, to, typed: text.slice(0, Math.min(cursor, to)).trim() };
	}
	let quote = -1;
	let start = open + 1;
	for (let i = open + 1; i < cursor; i++) {
		const c = text[i];
		if (quote >= 0) {
			if (c === '\\') i++;
			else if (c === '"') quote = -1;
		} else if (c === '"') quote = i;
		else if (c === ',') start = i + 1;
		else if (c === '}') return null;
	}
	if (quote >= 0) {
		const label = /([^\s{,=!~]+)\s*(?:=~|!~|!=|=)\s*$/.exec(text.slice(start, quote))?.[1] ?? '';
		const close = /^(?:[^"\\]|\\.)*/.exec(text.slice(quote + 1))![0].length;
		return {
			kind: 'value',
			label,
			from: quote + 1,
			to: quote + 1 + close,
			typed: text.slice(quote + 1, cursor),
		};
	}
	const typed = text.slice(start, cursor);
	if (/[=!~"]/.test(typed)) return null;
	const lead = typed.length - typed.trimStart().length;
	const rest = /^[^\s=!~,}"]*/.exec(text.slice(cursor))![0].length;
	return { kind: 'name', label: '', from: start + lead, to: cursor + rest, typed: typed.trim() };
}

/** The text with a choice in its place, and where the cursor stands then. */
export function completed(text: string, slot: Slot, choice: string): { text: string; cursor: number } {
	const before = text.slice(0, slot.from);
	const after = text.slice(slot.to);
	if (slot.kind === 'name') {
		const tail = /^\s*(=|!)/.test(after) ? '' : '=""';
		return {
			text: before + choice + tail + after,
			cursor: before.length + choice.length + (tail ? 2 : 0),
		};
	}
	if (slot.kind === 'value') {
		const escaped = choice.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n');
		const closing = after.startsWith('"') ? '' : '"';
		return { text: before + escaped + closing + after, cursor: before.length + escaped.length + 1 };
	}
	const braces = after.startsWith('{') ? '' : '{}';
	return { text: choice + braces + after, cursor: choice.length + 1 };
}

/** What begins with the typed text first, then what has it inside. */
export function matching(choices: readonly string[], typed: string, most: number): string[] {
	const wanted = typed.toLowerCase();
	const starts = choices.filter((c) => c.toLowerCase().startsWith(wanted));
	const inside = choices.filter(
		(c) => !c.toLowerCase().startsWith(wanted) && c.toLowerCase().includes(wanted),
	);
	return [...starts, ...inside].slice(0, most);
}
