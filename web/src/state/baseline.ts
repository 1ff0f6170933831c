/*
 * The before/after loop: what was marked as the baseline is remembered here, and is written into
 * the link of a comparison, so that the link does not depend on this browser.
 */
import { type Params } from './location';
import { keep, recall } from './kept';

export interface Seen {
	readonly query: string;
	readonly from: string;
	readonly until: string;
	readonly at: string;
}

export function readBaseline(): Seen | null {
	try {
		const kept = JSON.parse(recall('baseline') || 'null') as Partial<Seen> | null;
		if (!kept || typeof kept.query !== 'string') return null;
		return {
			query: kept.query,
			from: String(kept.from ?? ''),
			until: String(kept.until ?? ''),
			at: String(kept.at ?? ''),
		};
	} catch {
		return null;
	}
}

export function keepBaseline(seen: Seen): void {
	keep('baseline', JSON.stringify(seen));
}

export type SideName = 'left' | 'right';

export function sideOf(params: Params, side: SideName): Seen {
	const own = (what: string) => params[`${side}${what}`];
	return {
		query: own('Query') ?? params.query ?? '',
		from: own('From') ?? params.from ?? '',
		until: own('Until') ?? params.until ?? '',
		at: own('At') ?? '',
	};
}

export function sideParams(side: SideName, seen: Seen): Record<string, string> {
	const all = {
		[`${side}Query`]: seen.query,
		[`${side}From`]: seen.from,
		[`${side}Until`]: seen.until,
		[`${side}At`]: seen.at,
	};
	return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}
