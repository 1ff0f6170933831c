/* The range of a page, in its link, and the clock that it is read by. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Params } from './location';
import { corrected, serverNow } from './server_clock';
import { isRelative, type Range, readDuration, type Span, spanOf } from './time';

export const DEFAULT_RANGE: Range = { from: 'now-1h', until: 'now' };
export const REFRESHES = ['off', '5s', '10s', '30s', '1m'];

export function rangeOf(params: Params): Range {
	return { from: params.from ?? DEFAULT_RANGE.from, until: params.until ?? DEFAULT_RANGE.until };
}

export interface Timed {
	readonly range: Range;
	readonly span: Span;
	readonly refresh: string;
	readonly now: number; // when "now" was read
	readonly again: () => void; // reads "now" anew
}

/** A new span comes only with a new range, a refresh or again(): not with every rendering. */
export function useTimed(params: Params): Timed {
	const { from, until } = rangeOf(params);
	const refresh = REFRESHES.includes(params.refresh ?? '') ? params.refresh! : 'off';
	const [now, setNow] = useState(serverNow);
	useEffect(() => {
		const every = refresh === 'off' ? null : readDuration(refresh);
		if (every === null || !isRelative({ from, until })) return;
		const timer = setInterval(() => document.visibilityState === 'visible' && setNow(serverNow()), every);
		return () => clearInterval(timer);
	}, [refresh, from, until]);
	useEffect(() => {
		const read = () => setNow(serverNow());
		corrected.addEventListener('corrected', read);
		return () => corrected.removeEventListener('corrected', read);
	}, []);
	const range = useMemo(() => ({ from, until }), [from, until]);
	const span = useMemo(() => spanOf(range, now), [range, now]);
	return { range, span, refresh, now, again: () => setNow(serverNow()) };
}

/** Twice as long around the same middle; never behind now. */
export function zoomedOut(span: Span, now: number): Span {
	const half = (span.until - span.from) / 2;
	const until = Math.min(Math.max(now, span.until), span.until + half);
	return { from: Math.round(span.from - half - (span.until + half - until)), until: Math.round(until) };
}

export function moved(span: Span, direction: 1 | -1): Span {
	const step = Math.round((span.until - span.from) / 2) * direction;
	return { from: span.from + step, until: span.until + step };
}

export const asRange = (span: Span): { from: string; until: string } => ({
	from: String(Math.round(span.from)),
	until: String(Math.round(span.until)),
});
