/*
 * A group is a run of frames that only pass the call on: each has one child, of nearly the same
 * value. Collapsed, its first frame stands for all of them.
 */
import type { Tree } from './tree';

const NEARLY = 0.99;
export const OPEN_UP_TO = 40; // levels; deeper graphs begin collapsed

export interface Groups {
	readonly head: Int32Array; // of each node, the first of its group; itself where there is none
	readonly size: Int32Array; // of a head, frames of its group; 1 where there is none
}

export function groupsOf(tree: Tree): Groups {
	const head = Int32Array.from({ length: tree.size }, (_, i) => i);
	const size = new Int32Array(tree.size).fill(1);
	for (let i = 2; i < tree.size; i++) {
		const parent = tree.parent[i]!;
		if (parent <= 0 || tree.end[parent] !== tree.end[i] || parent !== i - 1) continue;
		if (!nearly(tree.total[i]!, tree.total[parent]!)) continue;
		if (tree.before && !nearly(tree.before.total[i]!, tree.before.total[parent]!)) continue;
		head[i] = head[parent]!;
		size[head[i]!]!++;
	}
	return { head, size };
}

function nearly(value: number, parent: number): boolean {
	return value >= parent * NEARLY;
}

export function depthOf(tree: Tree): number {
	let deepest = 0;
	for (let i = 0; i < tree.size; i++) if (tree.level[i]! > deepest) deepest = tree.level[i]!;
	return tree.size === 0 ? 0 : deepest + 1;
}
