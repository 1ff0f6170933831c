/*
 * Trees made of others: without some frames (their callers take over what they hold), or without
 * everything below some function. Children that come to have one name become one.
 */
import { TreeBuilder, type Tree } from './tree';

/** The same values; frames for which `drop` is true are gone, the root stays. */
export function withoutFrames(tree: Tree, drop: (name: number) => boolean): Tree {
	const dropped = new Uint8Array(tree.frames.names.length);
	let any = 0;
	for (let name = 0; name < dropped.length; name++) any |= dropped[name] = drop(name) ? 1 : 0;
	if (!any) return tree;
	return rebuilt(tree, (_node, name) => (dropped[name] ? 'merge' : 'keep'));
}

/** Without functions of that name and all that they called: what remains is scaled to. */
export function withoutSubtrees(tree: Tree, hidden: ReadonlySet<string>): Tree {
	if (hidden.size === 0) return tree;
	return rebuilt(tree, (_node, name) => (hidden.has(tree.frames.names[name] ?? '') ? 'cut' : 'keep'));
}

function rebuilt(tree: Tree, judge: (node: number, name: number) => 'keep' | 'merge' | 'cut'): Tree {
	const built = new TreeBuilder(tree.frames, tree.name[0] ?? 0);
	const becomes = new Int32Array(tree.size);
	for (let i = 0; i < tree.size; i++) {
		const parent = i === 0 ? 0 : becomes[tree.parent[i]!]!;
		const verdict = i === 0 ? 'keep' : judge(i, tree.name[i]!);
		if (verdict === 'cut') {
			i = tree.end[i]! - 1;
			continue;
		}
		const node = i === 0 ? 0 : verdict === 'merge' ? parent : built.child(parent, tree.name[i]!);
		becomes[i] = node;
		built.value(node, tree.self[i]!, tree.before?.self[i] ?? 0);
	}
	return built.build(tree.before ? 'diff' : 'single');
}
