/*
 * A flame graph as the pages use it: toolbar, table, picture or sandwich, and a line that says what
 * is seen. Its state is in the link; two of them on one page share search and focus.
 */
import type { ComponentChildren } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type { Graph, ServedSandwich } from '../api/flamegraph';
import { ExportMenu, type Source } from './export_menu';
import { useAnswer } from '../state/answer';
import { useKept } from '../state/kept';
import { change, usePlace } from '../state/location';
import { exact, format, formatChange, percent } from '../state/units';
import { Divider } from '../ui/divider';
import { useKeys } from '../ui/keys';
import { Failure } from '../ui/states';
import { shortened } from '../ui/text';
import { changeColor, diffPainter, moduleColor, painter, KIND_HUES } from './color';
import { FlamePanel, type PanelActions } from './flame_panel';
import type { Kind } from './frames';
import { linkOf, nodeOfLink } from './path';
import { framesOnly, type Prepared, usePrepared, useShown } from './prepared';
import { sandwichOf } from './sandwich';
import { DiffLegend, Legend, Toolbar } from './toolbar';
import { TopTable } from './top_table';
import type { Tree } from './tree';
import { nameOf } from './tree';
import { type Defaults, readViewState, type ViewState, writeViewState } from './view_state';

export interface FlameViewProps {
	readonly graph: Graph;
	readonly mode?: 'single' | 'absolute' | 'normalised';
	readonly defaults?: Defaults;
	readonly source?: Source;
	readonly title: string;
	readonly loading?: boolean;
	readonly canLimit?: 'yes' | 'no'; // whether the graph can be asked for with more nodes
	readonly askSandwich?: (name: string, signal: AbortSignal) => Promise<ServedSandwich | null>;
	readonly children?: ComponentChildren; // a line above the toolbar
}

export const PLAIN: Defaults = { frames: 'all', scheme: 'module' };
/** Memory of GPUs: Python's own C code says nothing about who holds it. */
export const GPU: Defaults = { frames: 'code', scheme: 'kind' };
const DEFAULT_NODES = '8192';

export function FlameView(p: FlameViewProps) {
	const place = usePlace();
	const defaults = p.defaults ?? PLAIN;
	const mode = p.mode ?? 'single';
	const state = readViewState(place.params, defaults);
	const { tree, rows } = useShown(p.graph, state);
	const [turned, setTurned] = useState<ReadonlySet<number>>(new Set());
	const scaleBefore =
		mode === 'normalised' && p.graph.totalBefore > 0 ? p.graph.total / p.graph.totalBefore : 1;
	const prepared = usePrepared(tree, state, turned, scaleBefore);
	const [hoverName, setHoverName] = useState(-1);
	const [hitAt, setHitAt] = useState<{ node: number } | null>(null);
	const { hits, hashes } = prepared;
	const focus = useMemo(
		() => (state.focus ? Math.max(0, nodeOfLink(tree, hashes, state.focus)) : 0),
		[tree, hashes, state.focus],
	);
	const paint = useMemo(
		() =>
			mode === 'single' ? painter(tree, state.scheme) : diffPainter(tree, scaleBefore, state.palette),
		[tree, mode, state.scheme, state.palette, scaleBefore],
	);
	const set = (changes: Partial<ViewState>, step: 'push' | 'replace' = 'push') =>
		change(writeViewState(changes, defaults), step);
	const actions: PanelActions = {
		onFocus: (node) =>
			set({ focus: node === null || node === 0 ? '' : linkOf(tree, hashes, node), sandwich: '' }),
		onSandwich: (name) =>
			set({ sandwich: name, ...(state.view === 'table' ? { view: 'both' as const } : {}) }),
		onSearch: (name) => set({ search: searchFor(name) }),
		onHide: (name) => set({ hidden: [...state.hidden, name], focus: '' }),
		onToggleGroup: (head) => setTurned(toggled(turned, hashes[head]!)),
		onHoverName: setHoverName,
	};
	const nextHit = (step: 1 | -1) => setHitAt(after(prepared, hitAt?.node ?? -1, step));
	useKeys({
		1: () => set({ view: 'table' }),
		2: () => set({ view: 'graph' }),
		3: () => set({ view: 'both' }),
		e: () => set({ groups: 'open' }),
		c: () => set({ groups: 'closed' }),
		i: () => set({ direction: state.direction === 'icicle' ? 'flame' : 'icicle' }),
		0: () => set({ focus: '', search: '', sandwich: '', hidden: [] }),
		n: () => nextHit(1),
		N: () => nextHit(-1),
	});
	const kinds = useMemo(() => kindsOf(tree), [tree]);
	const [split, setSplit] = useKept(
		mode === 'single' ? 'split' : 'split.diff',
		mode === 'single' ? '40' : '52',
	);
	const color = (name: number) =>
		mode === 'single'
			? state.scheme === 'kind'
				? KIND_HUES[tree.frames.kinds[name] ?? 'other']
				: moduleColor(tree.frames, name)
			: rowColor(rows, name, state, scaleBefore);
	const panel = {
		...actions,
		focus,
		paint,
		unit: p.graph.unit,
		mode,
		scaleBefore,
		hoverName,
		jump: hitAt,
		direction: state.direction === 'icicle' ? ('down' as const) : ('up' as const),
		highest: highest(),
	};
	return (
		<section class={`flame-view${p.loading ? ' stale' : ''}`} aria-label={p.title} aria-busy={p.loading}>
			{p.children}
			<Toolbar
				state={state}
				mode={mode}
				hits={hits}
				total={p.graph.total}
				unit={p.graph.unit}
				onState={set}
				onNextHit={nextHit}
				maxNodes={p.canLimit === 'yes' ? (place.params.maxNodes ?? DEFAULT_NODES) : ''}
				onMaxNodes={(limit) => change({ maxNodes: limit === DEFAULT_NODES ? null : limit })}>
				<ExportMenu
					tree={tree}
					rows={rows}
					layout={prepared.layout}
					paint={paint}
					unit={p.graph.unit}
					title={p.title}
					source={p.source}
				/>
			</Toolbar>
			<StatusLine p={p} state={state} focus={focus} tree={tree} onState={set} />
			<div class={`flame-body ${state.view}`} style={{ '--split': `${split}%` }}>
				{state.view !== 'graph' && (
					<TopTable
						frames={tree.frames}
						rows={rows}
						unit={p.graph.unit}
						total={p.graph.total}
						totalBefore={p.graph.totalBefore}
						mode={mode}
						hits={hits?.names ?? null}
						hoverName={hoverName}
						color={color}
						onHover={setHoverName}
						onPick={(name) => set({ search: searchFor(tree.frames.names[name] ?? '') })}
						onSandwich={(name) => actions.onSandwich(tree.frames.names[name] ?? '')}
					/>
				)}
				{state.view === 'both' && (
					<Divider value={Number(split)} onChange={(value) => setSplit(String(value))} />
				)}
				{state.view !== 'table' && (
					<div class="flame-graph">
						{state.sandwich ? (
							<SandwichPanels
								key={state.sandwich}
								p={p}
								state={state}
								tree={tree}
								panel={panel}
								onClose={() => set({ sandwich: '' })}
							/>
						) : (
							<FlamePanel {...panel} prepared={prepared} title={`Flame graph of ${p.title}`} />
						)}
						{mode !== 'single' ? (
							<DiffLegend palette={state.palette} />
						) : (
							state.scheme === 'kind' && <Legend kinds={kinds} />
						)}
					</div>
				)}
			</div>
		</section>
	);
}

/** Roughly what a screen has below the controls; taller graphs scroll. */
const highest = () => Math.max(260, Math.min(1200, innerHeight - 220));

/** A name that looks like several terms or a pattern is looked for as it stands. */
function searchFor(name: string): string {
	return /[,]|^\//.test(name) ? `/${name.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')}/` : name;
}

function kindsOf(tree: Tree): ReadonlySet<Kind> {
	const kinds = new Set<Kind>();
	for (const name of tree.name) kinds.add(tree.frames.kinds[name]!);
	return kinds;
}

function toggled(set: ReadonlySet<number>, hash: number): ReadonlySet<number> {
	const next = new Set(set);
	if (!next.delete(hash)) next.add(hash);
	return next;
}

function after(prepared: Prepared, node: number, step: 1 | -1): { node: number } | null {
	const shown = (prepared.hits?.nodes ?? []).filter((n) => prepared.layout.row[n]! >= 0);
	if (shown.length === 0) return null;
	const at = shown.indexOf(node);
	return { node: shown[(at + step + shown.length) % shown.length]! };
}

function rowColor(
	rows: readonly { name: number; total: number; totalBefore: number }[],
	name: number,
	state: ViewState,
	scale: number,
): string {
	const row = rows.find((r) => r.name === name);
	if (!row) return '#c9ced6';
	const before = row.totalBefore * scale;
	return changeColor(
		before === 0 ? 1 : Math.max(-1, Math.min(1, (row.total - before) / before)),
		state.palette,
	);
}

interface SandwichProps {
	readonly p: FlameViewProps;
	readonly state: ViewState;
	readonly tree: Tree;
	readonly panel: Omit<Parameters<typeof FlamePanel>[0], 'prepared' | 'title'>;
	readonly onClose: () => void;
}

function SandwichPanels({ p, state, tree, panel, onClose }: SandwichProps) {
	const cut = p.graph.folded > 0 && p.askSandwich !== undefined;
	// the totals of two times may be the same: what was asked tells them apart
	const key = JSON.stringify([state.sandwich, p.source?.parameters]);
	const served = useAnswer(cut ? key : null, (signal) => p.askSandwich!(state.sandwich, signal));
	const both = useMemo(() => {
		if (!cut) return sandwichOf(tree, state.sandwich);
		const { data } = served;
		return (
			data && {
				callers: framesOnly(data.callers, state.frames),
				callees: framesOnly(data.callees, state.frames),
				count: 0,
			}
		);
	}, [tree, state.sandwich, state.frames, cut, served.data]);
	if (!both) {
		return (
			<div class="empty">
				<Failure asked={served} what="callers and callees" />
				<p>
					{served.loading
						? 'Looking for callers and callees …'
						: !served.error && (
								<>
									No <code>{shortened(state.sandwich, 120)}</code> in what is shown.
								</>
							)}
				</p>
				<button type="button" onClick={onClose}>
					Back to the graph
				</button>
			</div>
		);
	}
	const half = Math.max(120, Math.floor(panel.highest / 2));
	const side = { ...panel, highest: half, focus: 0, jump: null };
	return (
		<div class="sandwich">
			<div class="sandwich-head">
				<strong title={state.sandwich}>
					<bdi>{shortened(state.sandwich, 120)}</bdi>
				</strong>
				<span>
					{format(both.callees.total[0]!, p.graph.unit)} ·{' '}
					{percent(both.callees.total[0]!, p.graph.total)}
				</span>
				<button type="button" onClick={onClose}>
					Back to the graph
				</button>
			</div>
			<h2 class="side-title">Who calls it</h2>
			<SandwichSide
				tree={both.callers}
				state={state}
				side={{ ...side, direction: 'up' }}
				title="Callers"
				mode={panel.mode}
			/>
			<h2 class="side-title">What it calls</h2>
			<SandwichSide
				tree={both.callees}
				state={state}
				side={{ ...side, direction: 'down' }}
				title="Callees"
				mode={panel.mode}
			/>
		</div>
	);
}

function SandwichSide(p: {
	tree: Tree;
	state: ViewState;
	side: SandwichProps['panel'];
	title: string;
	mode: string;
}) {
	const prepared = usePrepared(p.tree, { ...p.state, groups: 'open' }, new Set(), p.side.scaleBefore);
	const [focus, setFocus] = useState(0);
	const paint = useMemo(
		() =>
			p.mode === 'single'
				? painter(p.tree, p.state.scheme)
				: diffPainter(p.tree, p.side.scaleBefore, p.state.palette),
		[p.tree, p.state.scheme, p.state.palette],
	);
	return (
		<FlamePanel
			{...p.side}
			prepared={prepared}
			paint={paint}
			title={p.title}
			focus={Math.min(focus, p.tree.size - 1)}
			onFocus={(node) => setFocus(node ?? 0)}
		/>
	);
}

interface StatusProps {
	readonly p: FlameViewProps;
	readonly state: ViewState;
	readonly focus: number;
	readonly tree: Tree;
	readonly onState: (changes: Partial<ViewState>) => void;
}

function StatusLine({ p, state, focus, tree, onState }: StatusProps) {
	const { unit, total, totalBefore, folded } = p.graph;
	const gone = total - (tree.total[0] ?? 0);
	return (
		<p class="status-line">
			<span title={exact(total, unit)}>
				Total <strong>{format(total, unit)}</strong>
				{tree.before && (
					<>
						{' '}
						now, <strong>{format(totalBefore, unit)}</strong> before:{' '}
						<strong>{formatChange(total - totalBefore, unit)}</strong>
					</>
				)}
			</span>
			{focus > 0 && (
				<span>
					Focus <bdi>{shortened(nameOf(tree, focus), 80)}</bdi>{' '}
					<strong>{format(tree.total[focus]!, unit)}</strong> · {percent(tree.total[focus]!, total)}{' '}
					<button type="button" class="plain link" onClick={() => onState({ focus: '' })}>
						show all
					</button>
				</span>
			)}
			{state.hidden.length > 0 && (
				<span>
					Hidden: {state.hidden.map((n) => shortened(n, 60)).join(', ')} ({format(gone, unit)}){' '}
					<button type="button" class="plain link" onClick={() => onState({ hidden: [] })}>
						show
					</button>
				</span>
			)}
			{folded > 0 && (
				<span class="warn">
					{folded.toLocaleString('en')} small nodes are folded into <em>other</em>; the table has
					them all.{' '}
					{p.canLimit === 'yes' && (
						<button type="button" class="plain link" onClick={() => change({ maxNodes: 'all' })}>
							Show all nodes
						</button>
					)}
				</span>
			)}
		</p>
	);
}
