/* What can be chosen for a flame graph. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Meaning, Reading, Symbols } from '../help/reading';
import { Dialog } from '../ui/dialog';
import { MenuButton } from '../ui/menu';
import { Icon } from '../ui/icons';
import { format, percent } from '../state/units';
import { KIND_HUES, type Scheme, SCHEMES } from './color';
import { KIND_TITLES, type Kind, KINDS } from './frames';
import type { Hits } from './search';
import { type FrameSet, FRAME_SETS, type View, type ViewState, VIEWS } from './view_state';

const VIEW_TITLES: Record<View, string> = { both: 'Both', table: 'Table', graph: 'Graph' };
const SCHEME_TITLES: Record<Scheme, string> = {
	module: 'By module',
	kind: 'By kind of code',
	value: 'By value',
	single: 'One hue',
};
export const FRAME_TITLES: Record<FrameSet, string> = {
	all: 'All frames',
	code: 'Without interpreter',
	python: 'Python only',
};
export const NODE_LIMITS = ['2048', '8192', '65536', 'all'];

export interface ToolbarProps {
	readonly state: ViewState;
	readonly mode: 'single' | 'absolute' | 'normalised';
	readonly hits: Hits | null;
	readonly total: number;
	readonly unit: string;
	readonly maxNodes: string; // '' where the graph cannot be asked for anew
	readonly onState: (changes: Partial<ViewState>, step?: 'push' | 'replace') => void;
	readonly onMaxNodes: (limit: string) => void;
	readonly onNextHit: (step: 1 | -1) => void;
	readonly children: ComponentChildren; // exports
}

export function Toolbar(p: ToolbarProps) {
	const { state } = p;
	const closed = state.groups === 'closed';
	return (
		<div class="toolbar" role="toolbar" aria-label="Flame graph">
			<div class="choice" role="group" aria-label="View">
				{VIEWS.map((view, i) => (
					<button
						type="button"
						key={view}
						aria-pressed={state.view === view}
						title={`${VIEW_TITLES[view]} (${[3, 1, 2][i]})`}
						class={view === 'both' ? 'wide-only' : ''}
						onClick={() => p.onState({ view })}>
						{VIEW_TITLES[view]}
					</button>
				))}
			</div>
			<SearchBox {...p} />
			<MenuButton
				label="Frames"
				title="Which frames are shown"
				entries={FRAME_SETS.map((frames) => ({
					title: FRAME_TITLES[frames],
					checked: state.frames === frames,
					act: () => p.onState({ frames }),
				}))}>
				{FRAME_TITLES[state.frames]} ▾
			</MenuButton>
			<button
				type="button"
				title="A group is a run of frames that only pass the call on (e, c)"
				onClick={() => p.onState({ groups: closed ? 'open' : 'closed' })}>
				{closed ? 'Expand groups' : 'Collapse groups'}
			</button>
			<MenuButton label="Appearance" entries={looks(p)}>
				Look ▾
			</MenuButton>
			{p.maxNodes !== '' && (
				<MenuButton
					label="Nodes of the graph"
					entries={NODE_LIMITS.map((limit) => ({
						title:
							limit === 'all' ? 'All nodes' : `At most ${Number(limit).toLocaleString('en')}`,
						checked: p.maxNodes === limit,
						act: () => p.onMaxNodes(limit),
					}))}>
					{p.maxNodes === 'all' ? 'All nodes' : `${Number(p.maxNodes).toLocaleString('en')} nodes`}{' '}
					▾
				</MenuButton>
			)}
			{(state.focus || state.search || state.hidden.length > 0 || state.sandwich) && (
				<button
					type="button"
					title="Focus, search, sandwich and hidden frames (0)"
					onClick={() => p.onState({ focus: '', search: '', sandwich: '', hidden: [] })}>
					Reset
				</button>
			)}
			<span class="grow" />
			{p.children}
			<ReadingHelp direction={state.direction} />
		</div>
	);
}

function looks(p: ToolbarProps) {
	const { state } = p;
	const direction = {
		title: 'Root on top (icicle)',
		checked: state.direction === 'icicle',
		hint: 'i',
		act: () => p.onState({ direction: 'icicle' }),
	};
	const flame = {
		title: 'Root at the bottom (flame)',
		checked: state.direction === 'flame',
		act: () => p.onState({ direction: 'flame' }),
	};
	if (p.mode === 'single') {
		return [
			direction,
			flame,
			null,
			...SCHEMES.map((scheme) => ({
				title: SCHEME_TITLES[scheme],
				checked: state.scheme === scheme,
				act: () => p.onState({ scheme }),
			})),
		];
	}
	return [
		direction,
		flame,
		null,
		{
			title: 'Red grew, green shrank',
			checked: state.palette === 'classic',
			act: () => p.onState({ palette: 'classic' }),
		},
		{
			title: 'Orange grew, blue shrank',
			checked: state.palette === 'blue-orange',
			act: () => p.onState({ palette: 'blue-orange' }),
		},
		null,
		{
			title: 'Width: the larger side',
			checked: state.weighing === 'max',
			act: () => p.onState({ weighing: 'max' }),
		},
		{ title: 'Width: now', checked: state.weighing === 'now', act: () => p.onState({ weighing: 'now' }) },
	];
}

function ReadingHelp({ direction }: { direction: 'icicle' | 'flame' }) {
	const [open, setOpen] = useState(false);
	return (
		<>
			<button
				type="button"
				class="icon-button"
				aria-label="How to read this graph"
				title="How to read this graph"
				onClick={() => setOpen(true)}>
				<Icon name="help" />
			</button>
			{open && (
				<Dialog title="How to read this graph" onClose={() => setOpen(false)}>
					<div class="prose">
						<Reading direction={direction} />
						<h3>Names</h3>
						<Symbols />
						<h3>Numbers</h3>
						<Meaning />
					</div>
				</Dialog>
			)}
		</>
	);
}

const TYPING_MS = 150;

function SearchBox(p: ToolbarProps) {
	const [text, setText] = useState(p.state.search);
	const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
	const sent = useRef(p.state.search);
	useEffect(() => {
		if (p.state.search !== sent.current) setText((sent.current = p.state.search));
	}, [p.state.search]);
	const type = (value: string) => {
		setText(value);
		clearTimeout(timer.current);
		timer.current = setTimeout(() => p.onState({ search: (sent.current = value) }, 'replace'), TYPING_MS);
	};
	return (
		<div class="search-box">
			<Icon name="search" />
			<input
				type="search"
				placeholder="Search"
				aria-label="Search functions: text, /pattern/, several by comma"
				value={text}
				data-search
				title="text, /pattern/, several by comma ( / )"
				onInput={(e) => type(e.currentTarget.value)}
				onKeyDown={(e) => e.key === 'Enter' && p.onNextHit(e.shiftKey ? -1 : 1)}
			/>
			{p.hits && (
				<span class="search-sum" aria-live="polite">
					{p.hits.nodes.length === 0
						? 'nothing found'
						: `${format(p.hits.value, p.unit)} · ${percent(p.hits.value, p.total)}`}
				</span>
			)}
		</div>
	);
}

/** The kinds that a graph has, with their colours. */
export function Legend({ kinds }: { kinds: ReadonlySet<Kind> }) {
	return (
		<ul class="legend" aria-label="Kinds of code">
			{KINDS.filter((kind) => kind !== 'root' && kinds.has(kind)).map((kind) => (
				<li key={kind}>
					<span class="swatch" style={{ background: KIND_HUES[kind] }} />
					{KIND_TITLES[kind]}
				</li>
			))}
		</ul>
	);
}

export function DiffLegend({ palette }: { palette: string }) {
	return (
		<ul class={`legend diff ${palette}`} aria-label="Colours">
			<li>
				<span class="swatch shrunk" />
				shrank (−)
			</li>
			<li>
				<span class="swatch same" />
				the same
			</li>
			<li>
				<span class="swatch grown" />
				grew (+)
			</li>
			<li>
				<span class="swatch grown hatched" />
				new
			</li>
			<li>
				<span class="swatch shrunk dashed" />
				gone
			</li>
		</ul>
	);
}
