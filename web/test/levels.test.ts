import { expect, test } from 'vitest';
import { diffOf, graphOf } from '../src/api/flamegraph';
import { framesOfNames } from '../src/fg/frames';
import { treeOfLevels } from '../src/fg/levels';
import { told } from './trees';

// the first example of docs/api/flamegraph.md
const EXAMPLE = {
	unit: 'bytes',
	total: 45,
	tick_ms: null,
	snapshots: null,
	exact: true,
	folded_nodes: 0,
	names: ['total', 'compute', 'io', 'idle', 'main', 'work'],
	kinds: ['root', 'other', 'other', 'other', 'other', 'other'],
	files: ['', '', '', '', '', ''],
	lines: [0, 0, 0, 0, 0, 0],
	levels: [
		[0, 45, 0, 0],
		[0, 45, 0, 4],
		[0, 5, 5, 3, 0, 40, 0, 5],
		[5, 30, 30, 1, 0, 10, 10, 2],
	],
	table: [
		[1, 30, 30],
		[2, 10, 10],
		[3, 5, 5],
		[4, 0, 45],
		[5, 0, 40],
	],
	sandwich: {
		frame: 5,
		callers: [
			[0, 40, 0, 5],
			[0, 40, 40, 4],
		],
		callees: [
			[0, 40, 0, 5],
			[0, 30, 30, 1, 0, 10, 10, 2],
		],
	},
};

test('four numbers a node become a tree', () => {
	const graph = graphOf(EXAMPLE);
	expect(told(graph.tree)).toEqual({
		main: [45, 0],
		'main;idle': [5, 5],
		'main;work': [40, 0],
		'main;work;compute': [30, 30],
		'main;work;io': [10, 10],
	});
	expect(graph.tree.total[0]).toBe(45);
	expect(told(graph.sandwich!.callers)).toEqual({ main: [40, 40] });
	expect(told(graph.sandwich!.callees)).toEqual({ compute: [30, 30], io: [10, 10] });
});

test('seven numbers a node have both sides, and a node that one side lacks has its place', () => {
	const { tree, total, totalBefore } = diffOf({
		unit: 'bytes',
		folded_nodes: 0,
		left: { total: 45 },
		right: { total: 12 },
		names: ['total', 'gone', 'new', 'main'],
		kinds: ['root', 'other', 'other', 'other'],
		files: [],
		lines: [],
		levels: [
			[0, 45, 0, 0, 12, 0, 0],
			[0, 45, 0, 0, 12, 2, 3],
			[0, 45, 45, 0, 0, 0, 1, 0, 0, 0, 0, 10, 10, 2],
		],
		table: [[1, 45, 45, 0, 0]],
	});
	expect([total, totalBefore]).toEqual([12, 45]);
	expect(told(tree)).toEqual({ main: [12, 2], 'main;gone': [0, 0], 'main;new': [10, 10] });
	expect([...tree.before!.total]).toEqual([45, 45, 45, 0]);
});

test('numbers above 2^53 come as strings', () => {
	const tree = treeOfLevels(
		framesOfNames(['total']),
		[['0', '9007199254740994', '9007199254740994', '0']],
		'single',
	);
	expect(tree.total[0]).toBe(2 ** 53 + 2);
});

test('an empty graph and a root of nothing are trees', () => {
	expect(treeOfLevels(framesOfNames([]), [], 'single').size).toBe(0);
	expect(treeOfLevels(framesOfNames(['total']), [[0, 0, 0, 0]], 'single').size).toBe(1);
});

test('a node that names no function is refused', () => {
	expect(() => treeOfLevels(framesOfNames(['total']), [[0, 1, 1, 7]], 'single')).toThrow(
		'names function 7 of 1',
	);
});

test('a chain of 20,000 frames is read without recursion', () => {
	const levels = Array.from({ length: 20_000 }, (_, i) => [0, 1, i === 19_999 ? 1 : 0, 0]);
	const tree = treeOfLevels(framesOfNames(['f']), levels, 'single');
	expect([tree.size, tree.level[19_999], tree.end[0]]).toEqual([20_000, 19_999, 20_000]);
});

test('values beyond 2^53 keep children with their parents', () => {
	// 2^53 + 1 + 1, added up one by one in doubles, is 2^53
	const frames = framesOfNames(['total', 'A', 'B', 'a', 'b', 'c', 'd']);
	const levels = [
		[0, '9007199254741004', 0, 0],
		[0, '9007199254740994', 0, 1, 0, 10, 0, 2],
		[0, '9007199254740992', '9007199254740992', 3, 0, 1, 1, 4, 0, 1, 1, 5, 0, 10, 10, 6],
	];
	const shown = told(treeOfLevels(frames, levels, 'single'));
	expect(shown['B;d']).toEqual([10, 10]);
	expect(Object.keys(shown).sort()).toEqual(['A', 'A;a', 'A;b', 'A;c', 'B', 'B;d']);
});
