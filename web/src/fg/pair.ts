/* Two trees of different sources as one comparison. */
import type { Frames } from './frames';
import { type Tree, TreeBuilder } from './tree';

export function paired(before: Tree, now: Tree): Tree {
	const { frames, renamed } = joined(before.frames, now.frames);
	const builder = new TreeBuilder(frames, 0);
	const add = (tree: Tree, name: (old: number) => number, value: (node: number, self: number) => void) => {
		const becomes = new Int32Array(tree.size);
		for (let i = 0; i < tree.size; i++) {
			becomes[i] = i === 0 ? 0 : builder.child(becomes[tree.parent[i]!]!, name(tree.name[i]!));
			value(becomes[i]!, tree.self[i]!);
		}
	};
	add(
		before,
		(old) => old,
		(node, self) => builder.value(node, 0, self),
	);
	add(
		now,
		(old) => renamed[old]!,
		(node, self) => builder.value(node, self),
	);
	return builder.build('diff');
}

function joined(a: Frames, b: Frames): { frames: Frames; renamed: Int32Array } {
	const all = { names: [...a.names], kinds: [...a.kinds], files: [...a.files], lines: [...a.lines] };
	const keyOf = (f: Frames, i: number) => `${f.names[i]}\0${f.files[i]}`;
	const ids = new Map(a.names.map((_, i) => [keyOf(a, i), i]));
	const renamed = Int32Array.from(b.names, (name, i) => {
		const known = ids.get(keyOf(b, i));
		if (known !== undefined) return known;
		ids.set(keyOf(b, i), all.names.length);
		all.kinds.push(b.kinds[i]!);
		all.files.push(b.files[i]!);
		all.lines.push(b.lines[i]!);
		return all.names.push(name) - 1;
	});
	return { frames: all, renamed };
}
