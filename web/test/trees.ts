/* Trees written as folded stacks, for tests. */
import { type Frames, framesOfNames } from '../src/fg/frames';
import { type Tree, TreeBuilder, nameOf, pathTo } from '../src/fg/tree';

export function treeOf(
	stacks: Record<string, number | [number, number]>,
	kinds: Partial<Record<string, Frames['kinds'][number]>> = {},
): Tree {
	const names = ['total', ...new Set(Object.keys(stacks).flatMap((stack) => stack.split(';')))];
	const guessed = framesOfNames(names);
	const frames: Frames = { ...guessed, kinds: guessed.kinds.map((kind, i) => kinds[names[i]!] ?? kind) };
	const builder = new TreeBuilder(frames, 0);
	const diff = Object.values(stacks).some(Array.isArray);
	for (const [stack, value] of Object.entries(stacks)) {
		let node = 0;
		for (const name of stack.split(';')) node = builder.child(node, names.indexOf(name));
		const [before, now] = Array.isArray(value) ? value : [0, value];
		builder.value(node, now, before);
	}
	return builder.build(diff ? 'diff' : 'single');
}

/** {"a;b": [total, self]} of all nodes but the root. */
export function told(tree: Tree): Record<string, [number, number]> {
	const out: Record<string, [number, number]> = {};
	for (let i = 1; i < tree.size; i++) {
		out[
			pathTo(tree, i)
				.slice(1)
				.map((n) => nameOf(tree, n))
				.join(';')
		] = [tree.total[i]!, tree.self[i]!];
	}
	return out;
}

export function nodeOf(tree: Tree, path: string): number {
	for (let i = 1; i < tree.size; i++) {
		if (
			pathTo(tree, i)
				.slice(1)
				.map((n) => nameOf(tree, n))
				.join(';') === path
		)
			return i;
	}
	throw new Error(`no node ${path}`);
}
