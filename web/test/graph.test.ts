import { expect, test } from 'vitest';
import { groupsOf } from '../src/fg/groups';
import { layoutOf, nodeAt, weightsOf } from '../src/fg/layout';
import { paired } from '../src/fg/pair';
import { linkOf, nodeOfLink, pathHashes } from '../src/fg/path';
import { framesOnly } from '../src/fg/prepared';
import { withoutFrames, withoutSubtrees } from '../src/fg/rework';
import { sandwichOf } from '../src/fg/sandwich';
import { search } from '../src/fg/search';
import { rowsOf } from '../src/fg/table';
import { nodeOf, told, treeOf } from './trees';

const TREE = treeOf({
	'main;load;alloc': 40,
	'main;step;alloc': 10,
	'main;step;step;alloc': 5,
	'main;step': 2,
});

test('totals are sums of selves', () => {
	expect(told(TREE)).toMatchObject({ main: [57, 0], 'main;step': [17, 2], 'main;step;step': [5, 0] });
});

test('in a recursion the outermost occurrence counts', () => {
	const rows = Object.fromEntries(rowsOf(TREE).map((r) => [TREE.frames.names[r.name], [r.self, r.total]]));
	expect(rows).toEqual({ main: [0, 57], load: [0, 40], step: [2, 17], alloc: [55, 55] });
});

test('callers of a folded frame take over what it held, and equal children become one', () => {
	const tree = treeOf(
		{ 'a;eval;b': 3, 'a;b': 4, 'a;eval': 1 },
		{ eval: 'interpreter', a: 'python', b: 'python' },
	);
	expect(told(framesOnly(tree, 'code'))).toEqual({ a: [8, 1], 'a;b': [7, 7] });
	expect(told(framesOnly(tree, 'all'))).toEqual(told(tree));
});

test("Python only: what the driver took is its caller's own", () => {
	const tree = treeOf(
		{ 'main;load;cuMemAlloc_v2': 9 },
		{ main: 'python', load: 'python', cuMemAlloc_v2: 'cuda' },
	);
	expect(told(framesOnly(tree, 'python'))).toEqual({ main: [9, 0], 'main;load': [9, 9] });
});

test('a hidden frame goes with all that it called', () => {
	expect(told(withoutSubtrees(TREE, new Set(['step'])))).toEqual({
		main: [40, 0],
		'main;load': [40, 0],
		'main;load;alloc': [40, 40],
	});
	expect(withoutFrames(TREE, () => false)).toBe(TREE);
});

test('a sandwich merges all places of a function, and inner calls count once', () => {
	const { callers, callees, count } = sandwichOf(TREE, 'step')!;
	expect(count).toBe(1);
	expect([callers.total[0], callees.total[0]]).toEqual([17, 17]);
	expect(told(callers)).toEqual({ main: [17, 17] });
	expect(told(callees)).toEqual({ alloc: [10, 10], step: [5, 0], 'step;alloc': [5, 5] });
	expect(told(sandwichOf(TREE, 'alloc')!.callers)).toEqual({
		load: [40, 0],
		'load;main': [40, 40],
		step: [15, 0],
		'step;main': [10, 10],
		'step;step': [5, 0],
		'step;step;main': [5, 5],
	});
	expect(sandwichOf(TREE, 'nothing')).toBeNull();
});

test('a search counts what is inside of a hit once', () => {
	expect(search(TREE, 'STEP')!.value).toBe(17);
	expect(search(TREE, 'load, alloc')!.value).toBe(55);
	expect(search(TREE, '/^lo+ad$/')!.value).toBe(40);
	expect(search(TREE, '/a(,|l)l/')!.value).toBe(55);
	expect(search(TREE, '/(/')!.nodes).toEqual([]);
	expect(search(TREE, '  ')).toBeNull();
});

test('a run that passes the call on is a group, and collapsed it is one row', () => {
	const tree = treeOf({ 'a;b;c;d': 100, 'a;b;c;e': 100 });
	const groups = groupsOf(tree);
	const [a, b, c] = ['a', 'a;b', 'a;b;c'].map((path) => nodeOf(tree, path));
	expect([groups.head[b!], groups.head[c!], groups.size[a!]]).toEqual([a, a, 3]);
	const layout = layoutOf(tree, groups, () => false);
	expect([layout.row[a!], layout.row[b!], layout.row[nodeOf(tree, 'a;b;c;d')]]).toEqual([1, -1, 2]);
	expect(layout.badge[a!]).toBe(3);
	expect(layoutOf(tree, groups, () => true).rows.length).toBe(5);
});

test('a node is found where it stands', () => {
	const layout = layoutOf(TREE, groupsOf(TREE), () => true);
	const load = nodeOf(TREE, 'main;load');
	expect([layout.start[load], layout.weight[load]]).toEqual([0, 40]);
	expect(nodeAt(layout, 2, 39.9)).toBe(load);
	expect(nodeAt(layout, 2, 40)).toBe(nodeOf(TREE, 'main;step'));
	expect(nodeAt(layout, 2, 57)).toBe(-1);
	expect(nodeAt(layout, 99, 1)).toBe(-1);
});

test('the larger side of each self makes the width, so that children never stand out', () => {
	const tree = treeOf({ 'm;a': [10, 0], 'm;b': [0, 7], m: [1, 3] });
	const weight = weightsOf(tree, 'max', 1);
	expect(weight[nodeOf(tree, 'm')]).toBe(10 + 7 + 3);
	expect(weightsOf(tree, 'now', 1)[0]).toBe(10);
	expect(weightsOf(tree, 'max', 2)[nodeOf(tree, 'm;a')]).toBe(20);
});

test('a link finds its node again, by its path or else by its name', () => {
	const step = nodeOf(TREE, 'main;step;step');
	const link = linkOf(TREE, pathHashes(TREE), step);
	expect(nodeOfLink(TREE, pathHashes(TREE), link)).toBe(step);
	const other = treeOf({ 'begin;step': 4, 'begin;x': 1 });
	expect(nodeOfLink(other, pathHashes(other), link)).toBe(nodeOf(other, 'begin;step'));
	expect(nodeOfLink(other, pathHashes(other), 'zz~gone')).toBe(-1);
});

test('two files become one comparison, whatever their numbering', () => {
	const tree = paired(treeOf({ 'a;b': 5, 'a;c': 1 }), treeOf({ x: 2, 'a;b': 7 }));
	expect(told(tree)).toEqual({ a: [7, 0], 'a;b': [7, 7], 'a;c': [0, 0], x: [2, 2] });
	expect([tree.before!.total[0], tree.total[0]]).toEqual([6, 9]);
});
