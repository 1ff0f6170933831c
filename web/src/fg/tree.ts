/*
 * A call tree in pre-order: node 0 is the root, the descendants of node i are i + 1 .. end[i] - 1,
 * and level[i] is its depth. Immutable once built.
 *
 * A comparison has a second pair of values, `before`; total and self are then what is now.
 */
import type { Frames } from './frames';

export interface Values {
	readonly total: Float64Array;
	readonly self: Float64Array;
}

export interface Tree extends Values {
	readonly frames: Frames;
	readonly size: number;
	readonly name: Int32Array;
	readonly parent: Int32Array;
	readonly level: Int32Array;
	readonly end: Int32Array;
	readonly before: Values | null;
}

/** Takes stacks or nodes in any order; children of a node that have one name are one child. */
export class TreeBuilder {
	private readonly names: number[] = [];
	private readonly selves: number[] = [];
	private readonly befores: number[] = [];
	private readonly firsts: number[] = [];
	private readonly lasts: number[] = [];
	private readonly nexts: number[] = [];
	private readonly byName = new Map<number, number>();
	private readonly stride: number;

	constructor(
		private readonly frames: Frames,
		root: number,
	) {
		this.stride = frames.names.length + 1;
		this.add(root);
	}

	/** The child of that name; made when it is not there yet. */
	child(parent: number, name: number): number {
		const key = parent * this.stride + name;
		const known = this.byName.get(key);
		if (known !== undefined) return known;
		const node = this.add(name);
		this.byName.set(key, node);
		const last = this.lasts[parent]!;
		if (last < 0) this.firsts[parent] = node;
		else this.nexts[last] = node;
		this.lasts[parent] = node;
		return node;
	}

	value(node: number, self: number, before = 0): void {
		this.selves[node]! += self;
		this.befores[node]! += before;
	}

	/** Children in the order in which they came. */
	build(kind: 'single' | 'diff' = 'single'): Tree {
		const size = this.names.length;
		const tree = emptyTree(this.frames, size, kind);
		let count = 0;
		const open: [number, number][] = [[0, -1]];
		while (open.length > 0) {
			const [from, parent] = open.pop()!;
			const node = count++;
			tree.name[node] = this.names[from]!;
			tree.parent[node] = parent;
			tree.level[node] = parent < 0 ? 0 : tree.level[parent]! + 1;
			tree.self[node] = this.selves[from]!;
			if (tree.before) tree.before.self[node] = this.befores[from]!;
			const children: [number, number][] = [];
			for (let c = this.firsts[from]!; c >= 0; c = this.nexts[c]!) children.push([c, node]);
			while (children.length > 0) open.push(children.pop()!);
		}
		return sumUp(tree);
	}

	private add(name: number): number {
		const node = this.names.length;
		this.names.push(name);
		this.selves.push(0);
		this.befores.push(0);
		this.firsts.push(-1);
		this.lasts.push(-1);
		this.nexts.push(-1);
		return node;
	}
}

export function emptyTree(frames: Frames, size: number, kind: 'single' | 'diff') {
	const values = () => ({ total: new Float64Array(size), self: new Float64Array(size) });
	return {
		frames,
		size,
		name: new Int32Array(size),
		parent: new Int32Array(size),
		level: new Int32Array(size),
		end: new Int32Array(size),
		...values(),
		before: kind === 'diff' ? values() : null,
	};
}

/** Totals and ends from selves and parents. */
function sumUp(tree: Tree): Tree {
	for (let i = tree.size - 1; i >= 0; i--) {
		const parent = tree.parent[i]!;
		tree.total[i]! += tree.self[i]!;
		if (tree.before) tree.before.total[i]! += tree.before.self[i]!;
		if (tree.end[i]! < i + 1) tree.end[i] = i + 1;
		if (parent < 0) continue;
		tree.total[parent]! += tree.total[i]!;
		if (tree.before) tree.before.total[parent]! += tree.before.total[i]!;
		if (tree.end[parent]! < tree.end[i]!) tree.end[parent] = tree.end[i]!;
	}
	return tree;
}

export function nameOf(tree: Tree, node: number): string {
	return tree.frames.names[tree.name[node]!] ?? '';
}

/** Nodes from the root down to this one. */
export function pathTo(tree: Tree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i >= 0; i = tree.parent[i]!) path.push(i);
	return path.reverse();
}

export function* childrenOf(tree: Tree, node: number): Generator<number> {
	for (let c = node + 1; c < tree.end[node]!; c = tree.end[c]!) yield c;
}
