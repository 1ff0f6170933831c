/*
 * Colours of nodes. A name has one hue in every view and every session; text on any of them has a
 * contrast of 4.5 and more, in both themes.
 */
import type { Frames, Kind } from './frames';
import { hashText } from './path';
import type { Tree } from './tree';

export const SCHEMES = ['module', 'kind', 'value', 'single'] as const;
export type Scheme = (typeof SCHEMES)[number];
export const PALETTES = ['classic', 'blue-orange'] as const;
export type Palette = (typeof PALETTES)[number];

export const KIND_HUES: Record<Kind, string> = {
	python: '#7db8f0',
	native: '#f2b36b',
	cuda: '#8fd48a',
	kernel: '#c7a6ee',
	interpreter: '#b3bac5',
	other: '#e3c9a8',
	folded: '#9aa3b1',
	root: '#c3cbd8',
};

export const INK = '#0d1117'; // text on every colour above and below
const ROOT = '#c3cbd8';

export type Paint = (node: number) => string;

export function painter(tree: Tree, scheme: Scheme): Paint {
	const byName = (color: (name: number) => string): Paint => {
		const known: string[] = [];
		return (node) => (known[tree.name[node]!] ??= color(tree.name[node]!));
	};
	switch (scheme) {
		case 'kind':
			return byName((name) => KIND_HUES[tree.frames.kinds[name] ?? 'other']);
		case 'value': {
			const whole = tree.total[0] || 1;
			return (node) => (node === 0 ? ROOT : heat((tree.total[node] ?? 0) / whole));
		}
		case 'single':
			return (node) =>
				node === 0 ? ROOT : `hsl(212 60% ${68 + (hashText(String(tree.name[node])) % 10)}%)`;
		default:
			return byName((name) => moduleColor(tree.frames, name));
	}
}

export function moduleColor(frames: Frames, name: number): string {
	const kind = frames.kinds[name];
	if (kind === 'root' || kind === 'folded') return KIND_HUES[kind];
	const hash = hashText(moduleOf(frames, name));
	return `hsl(${hash % 360} ${48 + ((hash >>> 9) % 4) * 6}% ${66 + ((hash >>> 12) % 4) * 3}%)`;
}

/** The file, or what a name says of where it belongs: "a.b" of "a.b.c", "ns::cls" of "ns::cls::f". */
export function moduleOf(frames: Frames, name: number): string {
	const file = frames.files[name];
	if (file) return file.replace(/^.*\/(?=[^/]+\/[^/]+$)/, '');
	const text = frames.names[name] ?? '';
	const plain = text.replace(/<.*>|\(.*\)/g, '');
	const cut = Math.max(plain.lastIndexOf('.'), plain.lastIndexOf('::'), plain.lastIndexOf('/'));
	return cut > 0 ? plain.slice(0, cut) : plain;
}

function heat(share: number): string {
	const strength = Math.sqrt(Math.min(1, Math.max(0, share)));
	return `hsl(${48 - strength * 40} ${70 + strength * 20}% ${78 - strength * 14}%)`;
}

/** By the change of a node: -1 gone, 0 the same, 1 twice as much or new. */
export function changeColor(change: number, palette: Palette): string {
	const strength = Math.min(1, Math.abs(change));
	if (strength < 0.005) return '#c9ced6';
	const [grown, shrunk] = palette === 'classic' ? [4, 138] : [28, 212];
	return `hsl(${change > 0 ? grown : shrunk} ${38 + strength * 27}% ${84 - strength * 16}%)`;
}

export function diffPainter(tree: Tree, scaleBefore: number, palette: Palette): Paint {
	return (node) => changeColor(changeOf(tree, node, scaleBefore), palette);
}

/** Relative to what was before; what is new counts as 1. */
export function changeOf(tree: Tree, node: number, scaleBefore: number): number {
	const before = (tree.before?.total[node] ?? 0) * scaleBefore;
	const now = tree.total[node] ?? 0;
	if (before === 0) return now === 0 ? 0 : 1;
	return Math.max(-1, Math.min(1, (now - before) / before));
}
