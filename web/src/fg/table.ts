/*
 * Functions of a graph with what they hold themselves and in all. In a recursion the outermost
 * occurrence counts.
 */
import type { Tree } from './tree';

export interface Row {
	readonly name: number;
	readonly self: number;
	readonly total: number;
	readonly selfBefore: number;
	readonly totalBefore: number;
}

/** The root itself, which is no function, is left out. */
export function rowsOf(tree: Tree): Row[] {
	const count = tree.frames.names.length;
	const sums = [0, 1, 2, 3].map(() => new Float64Array(count)) as [
		Float64Array,
		Float64Array,
		Float64Array,
		Float64Array,
	];
	const [self, total, selfBefore, totalBefore] = sums;
	const seen = new Uint8Array(count);
	const inside = new Int32Array(count); // end of the occurrence that is open
	for (let i = 1; i < tree.size; i++) {
		const name = tree.name[i]!;
		seen[name] = 1;
		self[name]! += tree.self[i]!;
		if (tree.before) selfBefore[name]! += tree.before.self[i]!;
		if (i < inside[name]!) continue;
		inside[name] = tree.end[i]!;
		total[name]! += tree.total[i]!;
		if (tree.before) totalBefore[name]! += tree.before.total[i]!;
	}
	const rows: Row[] = [];
	for (let name = 0; name < count; name++) {
		if (!seen[name]) continue;
		rows.push({
			name,
			self: self[name]!,
			total: total[name]!,
			selfBefore: selfBefore[name]!,
			totalBefore: totalBefore[name]!,
		});
	}
	return rows;
}
