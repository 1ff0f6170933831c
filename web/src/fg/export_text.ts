/*
 * A graph as text: folded stacks, CSV of the table, JSON, and SVG. What is written is what is
 * shown, to its full depth.
 */
import { exact, format, percent } from '../state/units';
import { visible } from '../ui/text';
import { INK, type Paint } from './color';
import { placeOf } from './frames';
import type { Layout } from './layout';
import type { Row } from './table';
import { nameOf, pathTo, type Tree } from './tree';

/** "a;b;c 42" a line for each stack with a self value; ";" and line breaks in names become ":" and " ". */
export function foldedText(tree: Tree): string {
	const lines: string[] = [];
	for (let i = 1; i < tree.size; i++) {
		if (!tree.self[i]) continue;
		const names = pathTo(tree, i)
			.slice(1)
			.map((n) =>
				nameOf(tree, n)
					.replace(/;/g, ':')
					.replace(/[\r\n]+/g, ' '),
			);
		lines.push(`${names.join(';')} ${tree.self[i]}\n`);
	}
	return lines.join('');
}

export function csvText(tree: Tree, rows: readonly Row[]): string {
	const sides = tree.before ? ',self_before,total_before' : '';
	const lines = rows.map((row) =>
		[
			csvField(tree.frames.names[row.name] ?? ''),
			csvField(placeOf(tree.frames, row.name)),
			tree.frames.kinds[row.name],
			row.self,
			row.total,
			...(tree.before ? [row.selfBefore, row.totalBefore] : []),
		].join(','),
	);
	return `function,place,kind,self,total${sides}\r\n${lines.map((line) => `${line}\r\n`).join('')}`;
}

/** RFC 4180; what a spreadsheet would take for a formula is kept text. */
function csvField(text: string): string {
	const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
	return /[",\r\n]/.test(safe) ? `"${safe.replace(/"/g, '""')}"` : safe;
}

export interface JsonGraph {
	readonly vramscope: 1;
	readonly title: string;
	readonly unit: string;
	readonly frames: {
		readonly name: string;
		readonly kind: string;
		readonly file: string;
		readonly line: number;
	}[];
	/** [parent's index or -1, frame, self] or, of a comparison, [.., self, self before]; parents come first */
	readonly nodes: number[][];
}

export function jsonGraph(tree: Tree, title: string, unit: string): JsonGraph {
	const { names, kinds, files, lines } = tree.frames;
	const nodes: number[][] = [];
	for (let i = 0; i < tree.size; i++) {
		nodes.push([
			tree.parent[i]!,
			tree.name[i]!,
			tree.self[i]!,
			...(tree.before ? [tree.before.self[i]!] : []),
		]);
	}
	return {
		vramscope: 1,
		title,
		unit,
		nodes,
		frames: names.map((name, i) => ({ name, kind: kinds[i]!, file: files[i]!, line: lines[i]! })),
	};
}

const ROW = 18;
const WIDTH = 1200;
const MARGIN = 10;
const HEAD = 40;
const NARROWEST = 0.1;
const CHARACTER = 6.6;

/** A picture that needs nothing else: each frame has a title that says name and values. */
export function svgText(layout: Layout, paint: Paint, title: string, unit: string): string {
	const { tree } = layout;
	const height = HEAD + layout.rows.length * ROW + MARGIN;
	const k = (WIDTH - 2 * MARGIN) / (layout.weight[0] || 1);
	const boxes: string[] = [];
	for (let i = 0; i < tree.size; i++) {
		const width = layout.weight[i]! * k;
		if (layout.row[i]! < 0 || width < NARROWEST) continue;
		boxes.push(
			svgBox(layout, paint, unit, i, MARGIN + layout.start[i]! * k, HEAD + layout.row[i]! * ROW, width),
		);
	}
	return (
		`<?xml version="1.0" encoding="UTF-8"?>\n` +
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11">\n` +
		`<rect width="100%" height="100%" fill="#ffffff"/>\n<text x="${MARGIN}" y="24" font-size="14" fill="${INK}">${xml(visible(title))}: ${xml(format(tree.total[0] ?? 0, unit))}</text>\n` +
		`${boxes.join('\n')}\n</svg>\n`
	);
}

function svgBox(
	layout: Layout,
	paint: Paint,
	unit: string,
	node: number,
	x: number,
	y: number,
	width: number,
): string {
	const { tree } = layout;
	const name = visible(nameOf(tree, node));
	const total = tree.total[node]!;
	const before = tree.before ? `, before ${exact(tree.before.total[node]!, unit)}` : '';
	const said = `${name}: ${exact(total, unit)}${before}, ${percent(total, tree.total[0]!)}, self ${exact(tree.self[node]!, unit)}`;
	const room = Math.floor((width - 6) / CHARACTER);
	const text = room < 3 ? '' : name.length <= room ? name : `${name.slice(0, room - 1)}…`;
	return (
		`<g><title>${xml(said)}</title><rect x="${x.toFixed(2)}" y="${y}" width="${Math.max(width - 0.5, 0.1).toFixed(2)}" height="${ROW - 1}" fill="${paint(node)}"/>` +
		(text ? `<text x="${(x + 3).toFixed(2)}" y="${y + 12.5}" fill="${INK}">${xml(text)}</text>` : '') +
		'</g>'
	);
}

/** What XML 1.0 has no place for has become an escape in visible(), but lone halves of a pair. */
export function xml(text: string): string {
	return text
		.replace(
			/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]|[\ufffe\uffff]/g,
			'\ufffd',
		)
		.replace(/&/g, '&amp;')
		.replace(/</g, '&lt;')
		.replace(/>/g, '&gt;')
		.replace(/"/g, '&quot;');
}
