/*
 * One function, merged over all its occurrences: what it calls, below, and who calls it, above.
 * An occurrence inside another one counts once: its outermost one has the value.
 */
import { TreeBuilder, type Tree } from './tree';

export interface Sandwich {
	readonly callers: Tree; // the root is the function, its children call it
	readonly callees: Tree;
	readonly count: number; // occurrences that are not inside another one
}

/** Functions of one name in several files are one here. */
export function sandwichOf(tree: Tree, wanted: string): Sandwich | null {
	const same = Uint8Array.from(tree.frames.names, (other) => (other === wanted ? 1 : 0));
	const name = tree.name.find((n, i) => i > 0 && same[n] === 1);
	if (name === undefined) return null;
	const kind = tree.before ? 'diff' : 'single';
	const callers = new TreeBuilder(tree.frames, name);
	const callees = new TreeBuilder(tree.frames, name);
	let count = 0;
	for (let i = 0; i < tree.size; i++) {
		if (i === 0 || !same[tree.name[i]!]) continue;
		addCallers(tree, i, callers);
		addCallees(tree, i, callees);
		count++;
		i = tree.end[i]! - 1; // what is inside has been taken with it
	}
	return { callers: callers.build(kind), callees: callees.build(kind), count };
}

function addCallers(tree: Tree, node: number, callers: TreeBuilder): void {
	let at = 0;
	for (let i = tree.parent[node]!; i > 0; i = tree.parent[i]!) at = callers.child(at, tree.name[i]!);
	callers.value(at, tree.total[node]!, tree.before?.total[node] ?? 0);
}

function addCallees(tree: Tree, node: number, callees: TreeBuilder): void {
	const end = tree.end[node]!;
	const becomes = new Int32Array(end - node);
	for (let i = node; i < end; i++) {
		const at = i === node ? 0 : callees.child(becomes[tree.parent[i]! - node]!, tree.name[i]!);
		becomes[i - node] = at;
		callees.value(at, tree.self[i]!, tree.before?.self[i] ?? 0);
	}
}
