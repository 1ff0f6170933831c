/*
 * Levels as the server sends them -> a tree. A node is four numbers, (distance from the end of
 * the node before it, total, self, name), or seven in a comparison: three for either side. A node
 * belongs to the one above it that covers its position; both sides count, so that a node that one
 * side lacks has a place all the same. Positions are exact: numbers round beyond 2^53, which is
 * a hundred days of one core in nanoseconds, and children of one node would come to another one.
 */
import type { Frames } from './frames';
import { emptyTree, type Tree } from './tree';

export type Num = number | string;

const DEEPEST = 100_000;
const MOST_NODES = 4_000_000;

const BASE = 2 ** 32;

/** A position, high * 2^32 + low. */
class Place {
	high = 0;
	low = 0;

	add(value: Num): void {
		if (typeof value === 'number') {
			const high = Math.floor(value / BASE);
			this.carry(high, value - high * BASE);
		} else {
			const exact = BigInt(value);
			this.carry(Number(exact >> 32n), Number(exact & 0xffffffffn));
		}
	}

	private carry(high: number, low: number): void {
		this.high += high;
		this.low += low;
		if (this.low < BASE) return;
		this.low -= BASE;
		this.high++;
	}
}

/** Positions side by side. */
class Places {
	private readonly high: Float64Array;
	private readonly low: Float64Array;

	constructor(count: number) {
		this.high = new Float64Array(count);
		this.low = new Float64Array(count);
	}

	put(i: number, place: Place): void {
		this.high[i] = place.high;
		this.low[i] = place.low;
	}

	/** Whether the one at `i` is at most `place`. */
	isUpTo(i: number, place: Place): boolean {
		const high = this.high[i]!;
		return high < place.high || (high === place.high && this.low[i]! <= place.low);
	}
}

interface Level {
	readonly end: Places;
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
		end: new Places(count),
		values: new Float64Array(count * 4),
		name: new Int32Array(count),
		parent: new Int32Array(count),
	};
	const now = kind === 'diff' ? 4 : 1; // where the total of now stands
	const x = new Place();
	let parent = 0;
	for (let i = 0; i < count; i++) {
		const at = i * width;
		x.add(numbers[at]!);
		if (kind === 'diff') x.add(numbers[at + 3]!);
		while (above && parent + 1 < above.name.length && above.end.isUpTo(parent, x)) parent++;
		level.parent[i] = above ? parent : -1;
		x.add(numbers[at + now]!);
		level.values[i * 4] = Number(numbers[at + now]);
		level.values[i * 4 + 1] = Number(numbers[at + now + 1]);
		if (kind === 'diff') {
			x.add(numbers[at + 1]!);
			level.values[i * 4 + 2] = Number(numbers[at + 1]);
			level.values[i * 4 + 3] = Number(numbers[at + 2]);
		}
		level.end.put(i, x);
		const name = Number(numbers[at + width - 1]);
		if (!(name >= 0 && name < names)) throw new RangeError(`a node names function ${name} of ${names}`);
		level.name[i] = name;
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
