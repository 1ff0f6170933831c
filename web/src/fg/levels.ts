/*
 * Levels as the server sends them -> a tree. A node is four numbers, (distance from the end of
 * the node before it, total, self, name), or seven in a comparison: three for either side. A node
 * belongs to the one above it that covers its position; both sides count, so that a node that one
 * side lacks has a place all the same.
 */
import type { Frames } from './frames';
import { emptyTree, type Tree } from './tree';

export type Num = number | string;

const DEEPEST = 100_000;
const MOST_NODES = 4_000_000;

interface Level {
	readonly begin: Float64Array;
	readonly end: Float64Array;
	readonly values: Float64Array; // total, self, total before, self before of each
	readonly name: Int32Array;
	readonly parent: Int32Array;
}

export function treeOfLevels(
	frames: Frames,
	levels: readonly (readonly Num[])[],
	kind: 'single' | 'diff',
): Tree {
	if (levels.length > DEEPEST) throw new RangeError(`a graph of ${levels.length} levels is too deep`);
	const read: Level[] = [];
	let size = 0;
	for (const numbers of levels) {
		const level = readLevel(numbers, kind, frames.names.length, read[read.length - 1]);
		if (level.name.length === 0) break;
		read.push(level);
		size += level.name.length;
		if (size > MOST_NODES) throw new RangeError(`a graph of more than ${MOST_NODES} nodes is too large`);
	}
	return preOrder(frames, read, size, kind);
}

function readLevel(
	numbers: readonly Num[],
	kind: 'single' | 'diff',
	names: number,
	above: Level | undefined,
): Level {
	const width = kind === 'diff' ? 7 : 4;
	const count = Math.floor(numbers.length / width);
	const level: Level = {
		begin: new Float64Array(count),
		end: new Float64Array(count),
		values: new Float64Array(count * 4),
		name: new Int32Array(count),
		parent: new Int32Array(count),
	};
	const now = kind === 'diff' ? 4 : 1; // where the total of now stands
	let x = 0;
	let parent = 0;
	for (let i = 0; i < count; i++) {
		const at = i * width;
		const total = Number(numbers[at + now]);
		let before = 0;
		x += Number(numbers[at]);
		if (kind === 'diff') {
			x += Number(numbers[at + 3]);
			before = Number(numbers[at + 1]);
			level.values[i * 4 + 2] = before;
			level.values[i * 4 + 3] = Number(numbers[at + 2]);
		}
		level.begin[i] = x;
		x += total + before;
		level.end[i] = x;
		level.values[i * 4] = total;
		level.values[i * 4 + 1] = Number(numbers[at + now + 1]);
		const name = Number(numbers[at + width - 1]);
		if (!(name >= 0 && name < names)) throw new RangeError(`a node names function ${name} of ${names}`);
		level.name[i] = name;
		level.parent[i] = -1;
		if (!above) continue;
		while (parent + 1 < above.end.length && above.end[parent]! <= level.begin[i]!) parent++;
		level.parent[i] = parent;
	}
	return level;
}

/** Breadth first -> depth first. A level is in order of parents, so children are runs in it. */
function preOrder(frames: Frames, levels: Level[], size: number, kind: 'single' | 'diff'): Tree {
	const tree = emptyTree(frames, size, kind);
	const cursor = new Int32Array(levels.length);
	const placed = new Int32Array(levels.length); // node that is open at each level
	let node = 0;
	let depth = 0;
	while (node < size) {
		const level = levels[depth];
		const i = cursor[depth]!;
		const above = depth > 0 ? cursor[depth - 1]! - 1 : -1;
		if (!level || i >= level.name.length || (depth > 0 && level.parent[i] !== above)) {
			depth--;
			if (depth < 0) break;
			tree.end[placed[depth]!] = node;
			continue;
		}
		cursor[depth] = i + 1;
		placed[depth] = node;
		tree.name[node] = level.name[i]!;
		tree.parent[node] = depth > 0 ? placed[depth - 1]! : -1;
		tree.level[node] = depth;
		tree.total[node] = level.values[i * 4]!;
		tree.self[node] = level.values[i * 4 + 1]!;
		if (tree.before) {
			tree.before.total[node] = level.values[i * 4 + 2]!;
			tree.before.self[node] = level.values[i * 4 + 3]!;
		}
		node++;
		depth++;
	}
	while (--depth >= 0) tree.end[placed[depth]!] = node;
	return tree;
}
