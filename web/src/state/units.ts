/*
 * Numbers for people: three significant digits and a unit. The exact value is for tooltips.
 */

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];
const DECIMAL = ['', 'k', 'M', 'G', 'T', 'P', 'E'];
const TIMES: readonly [number, string][] = [
	[1, 'ns'],
	[1e3, 'µs'],
	[1e6, 'ms'],
	[1e9, 's'],
	[60e9, 'min'],
	[3600e9, 'h'],
	[86400e9, 'd'],
];
const IN_NANOSECONDS: Record<string, number> = {
	nanoseconds: 1,
	ns: 1,
	microseconds: 1e3,
	milliseconds: 1e6,
	seconds: 1e9,
};

export type Unit = string;

export function format(value: number, unit: Unit): string {
	if (!Number.isFinite(value)) return '–';
	const sign = value < 0 ? '−' : '';
	return sign + formatSize(Math.abs(value), unit);
}

/** With a sign in front, whatever it is. */
export function formatChange(value: number, unit: Unit): string {
	return value > 0 ? `+${format(value, unit)}` : format(value, unit);
}

function formatSize(value: number, unit: Unit): string {
	if (unit === 'bytes') return scaled(value, 1024, BINARY, ' ');
	const nanoseconds = IN_NANOSECONDS[unit];
	if (nanoseconds !== undefined) return time(value * nanoseconds);
	const word = unit === 'count' || unit === 'none' || unit === 'samples' || unit === '' ? '' : ` ${unit}`;
	return scaled(value, 1000, DECIMAL, value >= 1000 ? ' ' : '') + word;
}

function scaled(value: number, step: number, units: readonly string[], gap: string): string {
	let scale = 0;
	let rest = value;
	// 1023.6 of a unit would be written as 1024 of it
	while (Number(digits(rest)) >= step && scale < units.length - 1) {
		rest /= step;
		scale++;
	}
	return `${scale === 0 ? whole(rest) : digits(rest)}${gap}${units[scale]}`;
}

function time(ns: number): string {
	let [size, unit] = TIMES[0]!;
	for (const [s, u] of TIMES) if (ns >= s * 0.9995) [size, unit] = [s, u];
	return `${digits(ns / size)} ${unit}`;
}

function digits(value: number): string {
	if (value >= 99.95) return value.toFixed(0);
	if (value >= 9.995) return trim(value.toFixed(1));
	return trim(value.toFixed(2));
}

function whole(value: number): string {
	return Number.isInteger(value) ? String(value) : digits(value);
}

function trim(text: string): string {
	return text.includes('.') ? text.replace(/\.?0+$/, '') : text;
}

/** "4,500,000,000 bytes": all digits. */
export function exact(value: number, unit: Unit): string {
	const number = value.toLocaleString('en', { maximumFractionDigits: 3 });
	return unit === '' || unit === 'none' ? number : `${number} ${unit}`;
}

export function percent(part: number, whole: number): string {
	if (!whole) return '–';
	const share = (part / whole) * 100;
	return `${Math.abs(share) >= 99.95 ? share.toFixed(0) : Math.abs(share) >= 10 ? share.toFixed(1) : share.toFixed(2)} %`;
}
