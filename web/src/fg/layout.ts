/*
 * Where each node of a tree stands: a row, and from start to start + weight in the units of the
 * root's weight. Rows hold their nodes from left to right. A node inside a collapsed group has no
 * place of its own: row -1.
 */
import type { Groups } from './groups';
import type { Tree } from './tree';

export interface Layout {
	readonly tree: Tree;
	readonly start: Float64Array;
	readonly weight: Float64Array;
	readonly row: Int32Array;
	readonly rows: readonly Int32Array[];
	readonly badge: Int32Array; // frames that a collapsed head stands for, else 0
}

/** What the width of a node means; in a comparison every self counts with its larger side. */
export type Weighing = 'max' | 'now';

/** `open` says of a group's head whether its frames are shown. */
export function layoutOf(
	tree: Tree,
	groups: Groups,
	open: (head: number) => boolean,
	weighing: Weighing = 'max',
	scaleBefore = 1,
): Layout {
	const weight = weightsOf(tree, weighing, scaleBefore);
	const start = new Float64Array(tree.size);
	const row = new Int32Array(tree.size);
	const badge = new Int32Array(tree.size);
	const bottom = new Int32Array(tree.size); // the row that children stand under
	const next = new Float64Array(tree.size); // where the next child begins
	const shown: number[][] = [];
	const opened = new Int8Array(tree.size); // of heads: 0 not asked yet, 1 open, -1 collapsed
	for (let i = 0; i < tree.size; i++) {
		const parent = tree.parent[i]!;
		start[i] = next[i] = parent < 0 ? 0 : next[parent]!;
		if (parent >= 0) next[parent]! += weight[i]!;
		const head = groups.head[i]!;
		if (opened[head] === 0) opened[head] = groups.size[head]! < 2 || open(head) ? 1 : -1;
		const isOpen = opened[head] === 1;
		const above = parent < 0 ? -1 : bottom[parent]!;
		if (head !== i && !isOpen) {
			row[i] = -1;
			bottom[i] = above;
			continue;
		}
		bottom[i] = row[i] = above + 1;
		badge[i] = isOpen ? 0 : groups.size[i]!;
		(shown[above + 1] ??= []).push(i);
	}
	return { tree, start, weight, row, badge, rows: shown.map((nodes) => Int32Array.from(nodes)) };
}

export function weightsOf(tree: Tree, weighing: Weighing, scaleBefore: number): Float64Array {
	if (!tree.before || weighing === 'now') return tree.total;
	const weight = new Float64Array(tree.size);
	for (let i = tree.size - 1; i >= 0; i--) {
		weight[i]! += Math.max(tree.self[i]!, tree.before.self[i]! * scaleBefore);
		const parent = tree.parent[i]!;
		if (parent >= 0) weight[parent]! += weight[i]!;
	}
	return weight;
}

/** The node at a place in units of weight, or -1. */
export function nodeAt(layout: Layout, row: number, x: number): number {
	const nodes = layout.rows[row];
	if (!nodes) return -1;
	let low = 0;
	let high = nodes.length - 1;
	while (low <= high) {
		const middle = (low + high) >> 1;
		const node = nodes[middle]!;
		if (x < layout.start[node]!) high = middle - 1;
		else if (x >= layout.start[node]! + layout.weight[node]!) low = middle + 1;
		else return node;
	}
	return -1;
}

/** The first node of a row that ends behind x: an index into the row. */
export function firstBehind(layout: Layout, nodes: Int32Array, x: number): number {
	let low = 0;
	let high = nodes.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		const node = nodes[middle]!;
		if (layout.start[node]! + layout.weight[node]! <= x) low = middle + 1;
		else high = middle;
	}
	return low;
}
