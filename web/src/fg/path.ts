/*
 * A node is known by the names from the root down to it, so that a focus or an opened group
 * survives new data. In a link it is "HASH~NAME": the name is what is looked for when no path
 * has that hash any more.
 */
import { nameOf, type Tree } from './tree';

/** FNV-1a over UTF-16 units. */
export function hashText(text: string, seed = 2166136261): number {
	let hash = seed;
	for (let i = 0; i < text.length; i++) {
		hash ^= text.charCodeAt(i);
		hash = Math.imul(hash, 16777619);
	}
	return hash >>> 0;
}

/** Of each node, of its whole path. */
export function pathHashes(tree: Tree): Uint32Array {
	const own = new Map<number, number>();
	const hashes = new Uint32Array(tree.size);
	for (let i = 0; i < tree.size; i++) {
		const name = tree.name[i]!;
		let hash = own.get(name);
		if (hash === undefined) own.set(name, (hash = hashText(nameOf(tree, i))));
		const above = i === 0 ? 0 : hashes[tree.parent[i]!]!;
		hashes[i] = Math.imul(above ^ hash, 2654435761) + (above >>> 7);
	}
	return hashes;
}

export function linkOf(tree: Tree, hashes: Uint32Array, node: number): string {
	return `${hashes[node]!.toString(36)}~${nameOf(tree, node).slice(0, 200)}`;
}

/** The node of a link; -1 when neither the path nor the name is there. */
export function nodeOfLink(tree: Tree, hashes: Uint32Array, link: string): number {
	const cut = link.indexOf('~');
	const hash = parseInt(cut < 0 ? link : link.slice(0, cut), 36);
	const name = cut < 0 ? '' : link.slice(cut + 1);
	let best = -1;
	for (let i = 0; i < tree.size; i++) {
		const same = name === '' || nameOf(tree, i).startsWith(name);
		if (hashes[i] === hash && same) return i;
		if (name !== '' && same && (best < 0 || tree.total[i]! > tree.total[best]!)) best = i;
	}
	return best;
}
