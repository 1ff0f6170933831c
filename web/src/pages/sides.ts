/* Two sides as a link has them, and how they are said. */
import { readBaseline, type Seen, type SideName, sideOf } from '../state/baseline';
import type { Params } from '../state/location';
import { DEFAULT_RANGE } from '../state/range';
import { clock, day, readTime, stamp } from '../state/time';

/** Missing times are the last hour; a side without a query is what was last marked as baseline. */
export function readSides(params: Params): { left: Seen; right: Seen } {
	const filled = (seen: Seen): Seen =>
		seen.at
			? seen
			: { ...seen, from: seen.from || DEFAULT_RANGE.from, until: seen.until || DEFAULT_RANGE.until };
	const baseline = params.leftQuery === undefined ? readBaseline() : null;
	return { left: filled(baseline ?? sideOf(params, 'left')), right: filled(sideOf(params, 'right')) };
}

export function sideQuery(side: SideName, seen: Seen): Record<string, string> {
	const when: Record<string, string> = seen.at
		? { [`${side}At`]: seen.at }
		: { [`${side}From`]: seen.from, [`${side}Until`]: seen.until };
	return { [`${side}Query`]: seen.query, ...when };
}

export function describeSide(seen: Seen, now: number): string {
	if (seen.at) return `at ${stamp(readTime(seen.at, now) ?? now)}`;
	const [from, until] = [readTime(seen.from, now) ?? now, readTime(seen.until, now) ?? now];
	return `${stamp(from)} – ${day(from) === day(until) ? clock(until, from) : stamp(until)}`;
}
