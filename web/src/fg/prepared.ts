/*
 * From a graph and what a reader wants to see of it to trees, places and rows. Every step is
 * remembered by what it depends on, so that a search does not make the tree anew.
 */
import { useMemo } from 'preact/hooks';
import type { Graph } from '../api/flamegraph';
import { depthOf, type Groups, groupsOf, OPEN_UP_TO } from './groups';
import { type Layout, layoutOf } from './layout';
import { pathHashes } from './path';
import { withoutFrames, withoutSubtrees } from './rework';
import { type Hits, search } from './search';
import { type Row, rowsOf } from './table';
import type { Tree } from './tree';
import type { FrameSet, ViewState } from './view_state';

export function framesOnly(tree: Tree, set: FrameSet): Tree {
	const { kinds } = tree.frames;
	if (set === 'code') return withoutFrames(tree, (name) => kinds[name] === 'interpreter');
	if (set === 'python')
		return withoutFrames(tree, (name) => !['python', 'root', 'folded'].includes(kinds[name] ?? ''));
	return tree;
}

export interface Shown {
	readonly tree: Tree;
	readonly rows: readonly Row[];
}

/** The tree that is shown, and its rows: the server's own where the graph was cut. */
export function useShown(graph: Graph, state: ViewState): Shown {
	const hidden = state.hidden.join('\n');
	return useMemo(() => {
		const tree = withoutSubtrees(framesOnly(graph.tree, state.frames), new Set(state.hidden));
		if (graph.folded === 0) return { tree, rows: rowsOf(tree) };
		const { kinds, names } = graph.tree.frames;
		const rows = graph.rows.filter(
			(row) =>
				!state.hidden.includes(names[row.name] ?? '') &&
				(state.frames === 'all' || kinds[row.name] !== 'interpreter') &&
				(state.frames !== 'python' || kinds[row.name] === 'python'),
		);
		return { tree, rows };
	}, [graph, state.frames, hidden]);
}

export interface Prepared {
	readonly tree: Tree;
	readonly hashes: Uint32Array;
	readonly groups: Groups;
	readonly layout: Layout;
	readonly hits: Hits | null;
}

/** `turned` has the path hashes of groups that are the other way round than the rest. */
export function usePrepared(
	tree: Tree,
	state: ViewState,
	turned: ReadonlySet<number>,
	scaleBefore: number,
): Prepared {
	const hashes = useMemo(() => pathHashes(tree), [tree]);
	const groups = useMemo(() => groupsOf(tree), [tree]);
	const hits = useMemo(() => search(tree, state.search), [tree, state.search]);
	const open = useMemo(
		() => (state.groups === 'auto' ? depthOf(tree) <= OPEN_UP_TO : state.groups === 'open'),
		[tree, state.groups],
	);
	// where everything is open already, a search changes no place
	const opening = open && turned.size === 0 ? null : hits;
	const layout = useMemo(() => {
		const found = new Set((opening?.nodes ?? []).map((node) => groups.head[node]!));
		const isOpen = (head: number) => (turned.has(hashes[head]!) ? !open : open) || found.has(head);
		return layoutOf(tree, groups, isOpen, state.weighing, scaleBefore);
	}, [tree, hashes, groups, opening, open, state.weighing, turned, scaleBefore]);
	return { tree, hashes, groups, layout, hits };
}
