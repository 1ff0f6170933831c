/*
 * Where the reader is: a page below /ui/ and the parameters behind it. Everything that changes
 * what is seen is here, so that a link shows the same. Unknown parameters are kept.
 */
import { useEffect, useState } from 'preact/hooks';

export type Params = Readonly<Record<string, string>>;
export type Changes = Readonly<Record<string, string | null | undefined>>;

export interface Place {
	readonly page: string; // '' is the first page
	readonly params: Params;
}

const moved = new EventTarget();

/** The folder that all pages are in, "/prefix/ui/". */
export function baseUrl(): URL {
	return new URL('.', document.baseURI);
}

export function readPlace(url: URL, base: URL): Place {
	const below = url.pathname.startsWith(base.pathname) ? url.pathname.slice(base.pathname.length) : '';
	return { page: below.replace(/\/+$/, ''), params: readParams(url.search) };
}

/** Parsing never throws: what is not encoded well is taken as it stands. */
export function readParams(search: string): Params {
	const params: Record<string, string> = {};
	for (const [name, value] of new URLSearchParams(search)) params[name] ??= value;
	return params;
}

/** In the order in which they came; spaces as %20, since a "+" is lost in some chats. */
export function writeParams(params: Params): string {
	const parts = Object.entries(params).map(
		([name, value]) =>
			`${encodeURIComponent(name)}=${encodeURIComponent(value).replace(/%3A/g, ':').replace(/%2C/g, ',')}`,
	);
	return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

/** null and '' take a parameter away. */
export function changed(params: Params, changes: Changes): Params {
	const merged: Record<string, string> = { ...params };
	for (const [name, value] of Object.entries(changes)) {
		if (value === null || value === undefined || value === '') delete merged[name];
		else merged[name] = value;
	}
	return merged;
}

export function linkTo(page: string, params: Params = {}): string {
	return baseUrl().pathname + page + writeParams(params);
}

function here(): Place {
	return readPlace(new URL(location.href), baseUrl());
}

export function go(page: string, params: Params = {}): void {
	history.pushState(null, '', linkTo(page, params));
	moved.dispatchEvent(new Event('moved'));
	window.scrollTo(0, 0);
}

/** `push` makes a step that "back" undoes; `replace` is for what is being typed. */
export function change(changes: Changes, step: 'push' | 'replace' = 'push'): void {
	const place = here();
	const url = linkTo(place.page, changed(place.params, changes));
	if (url === location.pathname + location.search) return;
	if (step === 'push') history.pushState(null, '', url);
	else history.replaceState(null, '', url);
	moved.dispatchEvent(new Event('moved'));
}

export function usePlace(): Place {
	const [place, setPlace] = useState(here);
	useEffect(() => {
		const look = () => setPlace(here());
		moved.addEventListener('moved', look);
		addEventListener('popstate', look);
		return () => {
			moved.removeEventListener('moved', look);
			removeEventListener('popstate', look);
		};
	}, []);
	return place;
}

/** Clicks that a browser would follow in this window are followed without loading the page anew. */
export function followLinks(event: MouseEvent): void {
	if (
		event.defaultPrevented ||
		event.button !== 0 ||
		event.metaKey ||
		event.ctrlKey ||
		event.shiftKey ||
		event.altKey
	)
		return;
	const anchor = (event.target as Element | null)?.closest?.('a');
	if (!anchor || anchor.target || anchor.hasAttribute('download') || anchor.origin !== location.origin)
		return;
	const base = baseUrl();
	if (!anchor.pathname.startsWith(base.pathname)) return;
	event.preventDefault();
	const place = readPlace(new URL(anchor.href), base);
	go(place.page, place.params);
}
