/*
 * Times as people and links write them. All results are Unix milliseconds.
 */

const UNITS: Record<string, number> = { s: 1e3, m: 60e3, h: 3600e3, d: 86400e3, w: 7 * 86400e3 };
const RELATIVE = /^now(?:\s*([-+])\s*((?:\d+(?:\.\d+)?(?:ms|[smhdw]))+))?$/;

export type Range = { readonly from: string; readonly until: string };

export const PRESETS: readonly [string, string][] = [
	['now-5m', 'last 5 minutes'],
	['now-15m', 'last 15 minutes'],
	['now-30m', 'last 30 minutes'],
	['now-1h', 'last hour'],
	['now-3h', 'last 3 hours'],
	['now-6h', 'last 6 hours'],
	['now-12h', 'last 12 hours'],
	['now-24h', 'last 24 hours'],
	['now-2d', 'last 2 days'],
	['now-7d', 'last 7 days'],
	['now-30d', 'last 30 days'],
];

/** "1h30m" in ms; null when it is none. */
export function readDuration(text: string): number | null {
	if (!/^(\d+(\.\d+)?(ms|[smhdw]))+$/.test(text)) return null;
	let sum = 0;
	for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)(ms|[smhdw])/g)) {
		sum += Number(number) * (unit === 'ms' ? 1 : UNITS[unit!]!);
	}
	return sum;
}

/** "now-1h", a Unix time in s or ms, RFC 3339, or a local "2026-11-30 14:05"; null: none of them. */
export function readTime(text: string, now: number): number | null {
	const given = text.trim();
	const relative = RELATIVE.exec(given);
	if (relative) {
		const distance = relative[2] ? readDuration(relative[2]) : 0;
		return distance === null ? null : now + (relative[1] === '+' ? distance : -distance);
	}
	if (/^\d{1,17}(\.\d+)?$/.test(given)) {
		const number = Number(given);
		return Math.round(number < 1e11 ? number * 1e3 : number);
	}
	if (!/^\d{4}-\d\d-\d\d/.test(given)) return null;
	const parsed = Date.parse(given.replace(' ', 'T'));
	return Number.isNaN(parsed) ? null : parsed;
}

export interface Span {
	readonly from: number;
	readonly until: number;
}

/** A range in ms; what cannot be read is the last hour. */
export function spanOf(range: Range, now: number): Span {
	const until = readTime(range.until, now) ?? now;
	const from = readTime(range.from, now) ?? until - UNITS.h!;
	return from <= until ? { from, until } : { from: until, until: from };
}

export function isRelative(range: Range): boolean {
	return range.from.includes('now') || range.until.includes('now');
}

const two = (n: number) => String(n).padStart(2, '0');

/** "14:05:09", with the day in front when that is not today. */
export function clock(ms: number, now = Date.now()): string {
	const t = new Date(ms);
	const time = `${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
	return t.toDateString() === new Date(now).toDateString() ? time : `${day(ms)} ${time}`;
}

export function day(ms: number): string {
	const t = new Date(ms);
	return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

/** "2026-11-30 14:05:09", local. */
export function stamp(ms: number): string {
	const t = new Date(ms);
	return `${day(ms)} ${two(t.getHours())}:${two(t.getMinutes())}:${two(t.getSeconds())}`;
}

/** "3 min ago"; of a clock that runs ahead "in 3 min". */
export function ago(ms: number, now: number): string {
	const distance = now - ms;
	if (Math.abs(distance) < 2000) return 'now';
	return distance < 0 ? `in ${span(-distance)}` : `${span(distance)} ago`;
}

/** One number and a unit: "45 s", "12 min", "3 h", "5 d". */
export function span(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 120e3) return `${Math.round(ms / 1e3)} s`;
	if (ms < 120 * 60e3) return `${Math.round(ms / 60e3)} min`;
	if (ms < 48 * 3600e3) return `${Math.round(ms / 3600e3)} h`;
	return `${Math.round(ms / 86400e3)} d`;
}

export function describeRange(range: Range, now: number): string {
	const preset = range.until === 'now' && PRESETS.find(([from]) => from === range.from);
	if (preset) return preset[1];
	if (range.until === 'now' && /^now-/.test(range.from)) return `last ${range.from.slice(4)}`;
	const { from, until } = spanOf(range, now);
	return `${stamp(from)} – ${day(from) === day(until) ? clock(until, from) : stamp(until)}`;
}

/** A length that a preset, a step of the timeline or a refresh is said in. */
export function shortDuration(ms: number): string {
	for (const unit of ['d', 'h', 'm'] as const) {
		if (ms >= UNITS[unit]! && ms % UNITS[unit]! === 0) return `${ms / UNITS[unit]!}${unit}`;
	}
	return `${Math.round(ms / 1000)}s`;
}
