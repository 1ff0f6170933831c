/*
 * Scales and ticks of a chart over time: plain arithmetic, no drawing. A value of null is unknown.
 */
export interface Line {
	readonly label: string;
	readonly color: string;
	readonly values: readonly (number | null)[];
	readonly dash?: readonly number[]; // a level to compare with: never stacked
}

export interface Plane {
	readonly left: number;
	readonly top: number;
	readonly width: number;
	readonly height: number;
	readonly t0: number; // ms
	readonly t1: number;
	readonly most: number; // value at the top
}

export const xOf = (p: Plane, t: number) => p.left + ((t - p.t0) / (p.t1 - p.t0 || 1)) * p.width;
export const yOf = (p: Plane, value: number) => p.top + p.height - (value / (p.most || 1)) * p.height;
export const timeOf = (p: Plane, x: number) => p.t0 + ((x - p.left) / (p.width || 1)) * (p.t1 - p.t0);

/** What each line adds to those before it: its upper edge, and where that begins. */
export interface Band {
	readonly low: readonly number[];
	readonly high: readonly (number | null)[];
}

export function bandsOf(lines: readonly Line[], stacked: 'stacked' | 'lines'): Band[] {
	const sums: number[] = [];
	return lines.map((line) => {
		if (stacked === 'lines' || line.dash) return { low: line.values.map(() => 0), high: line.values };
		const low = line.values.map((_, i) => sums[i] ?? 0);
		const high = line.values.map((value, i) => (value === null ? null : (sums[i] = low[i]! + value)));
		return { low, high };
	});
}

export function mostOf(bands: readonly Band[]): number {
	let most = 0;
	for (const band of bands) for (const value of band.high) if (value !== null && value > most) most = value;
	return most === 0 ? 1 : most * 1.06;
}

/** Round values from zero to the top: powers of two for bytes, 1, 2 and 5 for all else. */
export function valueTicks(most: number, unit: string, about: number): number[] {
	const step = unit === 'bytes' ? 2 ** Math.ceil(Math.log2(most / about)) : decimalStep(most / about);
	const ticks: number[] = [];
	for (let value = 0; value <= most && ticks.length < 50; value += step) ticks.push(value);
	return ticks;
}

function decimalStep(least: number): number {
	const power = 10 ** Math.floor(Math.log10(least || 1));
	return ([1, 2, 5, 10].find((n) => n * power >= least) ?? 10) * power;
}

const [S, M, H, D] = [1e3, 60e3, 3600e3, 86400e3];
const STEPS = [
	1 * S,
	2 * S,
	5 * S,
	10 * S,
	15 * S,
	30 * S,
	M,
	2 * M,
	5 * M,
	10 * M,
	15 * M,
	30 * M,
	H,
	2 * H,
	3 * H,
	6 * H,
	12 * H,
	D,
	2 * D,
	7 * D,
	14 * D,
	30 * D,
];

export interface TimeTick {
	readonly t: number;
	readonly text: string;
}

/** On round times of the reader's clock. */
export function timeTicks(t0: number, t1: number, most: number): TimeTick[] {
	const step = STEPS.find((s) => (t1 - t0) / s <= most) ?? STEPS[STEPS.length - 1]!;
	const offset = new Date(t0).getTimezoneOffset() * M;
	const ticks: TimeTick[] = [];
	for (let t = Math.ceil((t0 - offset) / step) * step + offset; t <= t1; t += step)
		ticks.push({ t, text: tickText(t, step) });
	return ticks;
}

const two = (n: number) => String(n).padStart(2, '0');

function tickText(ms: number, step: number): string {
	const t = new Date(ms);
	if (step >= D || (t.getHours() === 0 && t.getMinutes() === 0 && t.getSeconds() === 0))
		return `${two(t.getMonth() + 1)}-${two(t.getDate())}`;
	const clock = `${two(t.getHours())}:${two(t.getMinutes())}`;
	return step < M ? `${clock}:${two(t.getSeconds())}` : clock;
}

/** The point that lies nearest to a time; -1 when there is none. */
export function nearest(times: readonly number[], t: number): number {
	let low = 0;
	let high = times.length - 1;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (times[middle]! < t) low = middle + 1;
		else high = middle;
	}
	if (low > 0 && Math.abs(times[low - 1]! - t) <= Math.abs((times[low] ?? Infinity) - t)) return low - 1;
	return times.length === 0 ? -1 : low;
}
