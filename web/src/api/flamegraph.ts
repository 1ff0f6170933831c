/* /api/v1/flamegraph and /api/v1/diff: docs/api/flamegraph.md. */
import type { Frames, Kind } from '../fg/frames';
import { KINDS } from '../fg/frames';
import { type Num, treeOfLevels } from '../fg/levels';
import type { Row } from '../fg/table';
import type { Tree } from '../fg/tree';
import { getJson, type Query } from './http';

/** A graph with the exact table behind it. */
export interface Graph {
	readonly tree: Tree;
	readonly unit: string;
	readonly total: number;
	readonly totalBefore: number;
	readonly folded: number; // nodes that the server left out
	readonly rows: readonly Row[];
	readonly side: Side;
	readonly sandwich: ServedSandwich | null;
}

export interface Side {
	readonly tickMs: number | null;
	readonly exact: boolean;
	readonly snapshots: number | null;
}

export interface ServedSandwich {
	readonly name: number;
	readonly callers: Tree;
	readonly callees: Tree;
}

interface Answer {
	unit: string;
	total?: Num;
	tick_ms?: number | null;
	exact?: boolean;
	snapshots?: number | null;
	folded_nodes: number;
	names: string[];
	kinds: string[];
	files: string[];
	lines: number[];
	levels: Num[][];
	table: Num[][];
	left?: AnswerSide;
	right?: AnswerSide;
	sandwich?: { frame: number | null; callers: Num[][]; callees: Num[][] } | null;
}

interface AnswerSide {
	total: Num;
	tick_ms?: number | null;
	exact?: boolean;
	snapshots?: number | null;
}

export async function askFlamegraph(query: Query, signal: AbortSignal): Promise<Graph> {
	return graphOf((await getJson('api/v1/flamegraph', query, signal)) as Answer);
}

export async function askDiff(query: Query, signal: AbortSignal): Promise<Graph> {
	return diffOf((await getJson('api/v1/diff', query, signal)) as Answer);
}

export function graphOf(answer: Answer): Graph {
	const frames = framesOf(answer);
	return {
		tree: treeOfLevels(frames, answer.levels, 'single'),
		unit: answer.unit,
		total: Number(answer.total ?? 0),
		totalBefore: 0,
		folded: answer.folded_nodes,
		rows: answer.table.map(([name, self, total]) => ({
			name: Number(name),
			self: Number(self),
			total: Number(total),
			selfBefore: 0,
			totalBefore: 0,
		})),
		side: sideOf(answer),
		sandwich: sandwichOf(frames, answer),
	};
}

export function diffOf(answer: Answer): Graph {
	const frames = framesOf(answer);
	return {
		tree: treeOfLevels(frames, answer.levels, 'diff'),
		unit: answer.unit,
		total: Number(answer.right?.total ?? 0),
		totalBefore: Number(answer.left?.total ?? 0),
		folded: answer.folded_nodes,
		rows: answer.table.map(([name, selfBefore, totalBefore, self, total]) => ({
			name: Number(name),
			self: Number(self),
			total: Number(total),
			selfBefore: Number(selfBefore),
			totalBefore: Number(totalBefore),
		})),
		side: sideOf(answer.right ?? {}),
		sandwich: null,
	};
}

function framesOf(answer: Answer): Frames {
	return {
		names: answer.names,
		kinds: answer.names.map((_, i) => kindOf(answer.kinds[i] ?? '')),
		files: answer.names.map((_, i) => answer.files?.[i] ?? ''),
		lines: answer.names.map((_, i) => answer.lines?.[i] ?? 0),
	};
}

/** A kind that this page does not know yet is shown as not known. */
function kindOf(word: string): Kind {
	return KINDS.find((kind) => kind === word) ?? 'other';
}

function sideOf(answer: Partial<AnswerSide>): Side {
	return {
		tickMs: answer.tick_ms ?? null,
		exact: answer.exact ?? true,
		snapshots: answer.snapshots ?? null,
	};
}

function sandwichOf(frames: Frames, answer: Answer): ServedSandwich | null {
	const served = answer.sandwich;
	if (!served || served.frame === null) return null;
	return {
		name: served.frame,
		callers: treeOfLevels(frames, served.callers, 'single'),
		callees: treeOfLevels(frames, served.callees, 'single'),
	};
}
