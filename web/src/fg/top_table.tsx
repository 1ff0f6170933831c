/* The table of functions: the complete alternative to the picture, for eyes and ears. */
import { useMemo, useState } from 'preact/hooks';
import { useCopy } from '../ui/copy';
import { Icon } from '../ui/icons';
import { shortened, shortPlace, visible } from '../ui/text';
import { exact, format, formatChange, percent } from '../state/units';
import { type Frames, KIND_TITLES, placeOf } from './frames';
import type { Row } from './table';

export interface TableProps {
	readonly frames: Frames;
	readonly rows: readonly Row[];
	readonly unit: string;
	readonly total: number;
	readonly totalBefore: number;
	readonly mode: 'single' | 'absolute' | 'normalised';
	readonly hits: Uint8Array | null;
	readonly hoverName: number;
	readonly color: (name: number) => string;
	readonly onHover: (name: number) => void;
	readonly onPick: (name: number) => void;
	readonly onSandwich: (name: number) => void;
}

interface Column {
	readonly key: string;
	readonly title: string;
	readonly hint: string;
	readonly value: (row: Row, p: TableProps) => number;
	readonly text: (row: Row, p: TableProps) => string;
	readonly share?: (row: Row, p: TableProps) => number;
	readonly rank?: (row: Row, p: TableProps) => number; // what it is sorted by; else its value
}

const FIRST_ROWS = 100;

const SELF: Column = {
	key: 'self',
	title: 'Self',
	hint: 'held by this function itself',
	value: (r) => r.self,
	text: (r, p) => format(r.self, p.unit),
	share: (r, p) => r.self / (p.total || 1),
};
const TOTAL: Column = {
	key: 'total',
	title: 'Total',
	hint: 'held by this function and all that it called',
	value: (r) => r.total,
	text: (r, p) => format(r.total, p.unit),
	share: (r, p) => r.total / (p.total || 1),
};

const SINGLE: readonly Column[] = [SELF, TOTAL];

/** A side's share of its own total, in a normalised comparison; else the value. */
const scaled = (value: number, whole: number, p: TableProps) =>
	p.mode === 'normalised' ? value / (whole || 1) : value;
const written = (value: number, p: TableProps) =>
	p.mode === 'normalised' ? percent(value, 1) : format(value, p.unit);
const change = (r: Row, p: TableProps) =>
	scaled(r.total, p.total, p) - scaled(r.totalBefore, p.totalBefore, p);
const changeSelf = (r: Row, p: TableProps) =>
	scaled(r.self, p.total, p) - scaled(r.selfBefore, p.totalBefore, p);
const signed = (value: number, p: TableProps) =>
	p.mode === 'normalised'
		? `${value > 0 ? '+' : value < 0 ? '−' : ''}${percent(Math.abs(value), 1)}`
		: formatChange(value, p.unit);

function relative(r: Row, p: TableProps): number {
	const before = scaled(r.totalBefore, p.totalBefore, p);
	return before === 0 ? (r.total === 0 ? 0 : Infinity) : change(r, p) / before;
}

function relativeText(r: Row, p: TableProps): string {
	if (r.totalBefore === 0) return r.total === 0 ? '–' : 'new';
	if (r.total === 0) return 'gone';
	const share = relative(r, p);
	return `${share > 0 ? '+' : share < 0 ? '−' : ''}${percent(Math.abs(share), 1)}`;
}

const DIFF: readonly Column[] = [
	{
		key: 'before',
		title: 'Before',
		hint: 'total of the baseline',
		value: (r) => r.totalBefore,
		text: (r, p) => written(scaled(r.totalBefore, p.totalBefore, p), p),
	},
	{
		key: 'now',
		title: 'Now',
		hint: 'total of the comparison',
		value: (r) => r.total,
		text: (r, p) => written(scaled(r.total, p.total, p), p),
	},
	{
		key: 'change',
		title: 'Change',
		hint: 'of the total: now less before',
		value: change,
		text: (r, p) => signed(change(r, p), p),
		rank: (r, p) => Math.abs(change(r, p)),
	},
	{
		key: 'relative',
		title: 'Change %',
		hint: 'relative to before',
		value: relative,
		text: relativeText,
		rank: (r, p) => Math.abs(relative(r, p)),
	},
	{
		key: 'selfChange',
		title: 'Self change',
		hint: 'of what the function holds itself',
		value: changeSelf,
		text: (r, p) => signed(changeSelf(r, p), p),
		rank: (r, p) => Math.abs(changeSelf(r, p)),
	},
];

export function TopTable(props: TableProps) {
	const columns = props.mode === 'single' ? SINGLE : DIFF;
	const [sort, setSort] = useState<{ key: string; down: 'down' | 'up' }>({ key: '', down: 'down' });
	const [more, setMore] = useState(FIRST_ROWS);
	const key = sort.key || (props.mode === 'single' ? 'self' : 'change');
	const rows = useMemo(
		() => sorted(props, columns, key, sort.down),
		[props.rows, props.mode, props.hits, key, sort.down],
	);
	const pick = (column: string) =>
		setSort({ key: column, down: key === column && sort.down === 'down' ? 'up' : 'down' });
	const state = (column: string) =>
		key !== column ? 'none' : sort.down === 'down' ? 'descending' : 'ascending';
	return (
		<div class="top-table" tabIndex={0} role="group" aria-label="Functions">
			<table>
				<thead>
					<tr>
						<Head
							title="Function"
							hint="by name"
							state={state('name')}
							onPick={() => pick('name')}
						/>
						{columns.map((c) => (
							<Head
								key={c.key}
								title={c.title}
								hint={c.hint}
								state={state(c.key)}
								onPick={() => pick(c.key)}
							/>
						))}
						<th class="slim">
							<span class="hidden">Sandwich</span>
						</th>
					</tr>
				</thead>
				<tbody onMouseLeave={() => props.onHover(-1)}>
					{rows.slice(0, more).map((row) => (
						<RowLine key={row.name} row={row} columns={columns} p={props} />
					))}
				</tbody>
			</table>
			{rows.length === 0 && <p class="quiet pad">No function here.</p>}
			{rows.length > more && (
				<button type="button" class="plain pad" onClick={() => setMore(more * 4)}>
					Show more: {(rows.length - more).toLocaleString('en')} functions are below
				</button>
			)}
		</div>
	);
}

function sorted(p: TableProps, columns: readonly Column[], key: string, down: 'down' | 'up'): Row[] {
	const shown = p.rows.filter((row) => !p.hits || p.hits[row.name]);
	const name = (row: Row) => p.frames.names[row.name] ?? '';
	if (key === 'name')
		return shown.sort((a, b) => (name(a) < name(b) ? -1 : 1) * (down === 'down' ? 1 : -1));
	const column = columns.find((c) => c.key === key) ?? columns[0]!;
	const rank = column.rank ?? column.value;
	const values = new Map(shown.map((row) => [row, rank(row, p)]));
	const sign = down === 'down' ? 1 : -1;
	return shown.sort((a, b) => {
		const [x, y] = [values.get(a)!, values.get(b)!];
		return x === y ? b.total - a.total || (name(a) < name(b) ? -1 : 1) : (y > x ? 1 : -1) * sign;
	});
}

function Head(p: {
	title: string;
	hint: string;
	state: 'none' | 'ascending' | 'descending';
	onPick: () => void;
}) {
	return (
		<th aria-sort={p.state} scope="col">
			<button type="button" class="plain sort" title={p.hint} onClick={p.onPick}>
				{p.title}
				<span aria-hidden="true" class="arrow">
					{p.state === 'descending' ? '▾' : p.state === 'ascending' ? '▴' : ''}
				</span>
			</button>
		</th>
	);
}

function RowLine({ row, columns, p }: { row: Row; columns: readonly Column[]; p: TableProps }) {
	const name = p.frames.names[row.name] ?? '';
	const place = placeOf(p.frames, row.name);
	const copy = useCopy();
	return (
		<tr class={row.name === p.hoverName ? 'hover' : ''} onMouseEnter={() => p.onHover(row.name)}>
			<th scope="row">
				<div class="function">
					<span
						class="swatch"
						style={{ background: p.color(row.name) }}
						title={KIND_TITLES[p.frames.kinds[row.name] ?? 'other']}
					/>
					<button
						type="button"
						class="plain name"
						title={`${shortened(name, 1000)}\nClick: search it`}
						onClick={() => p.onPick(row.name)}>
						<bdi>{shortened(name)}</bdi>
					</button>
				</div>
				{place && (
					<button
						type="button"
						class="plain place"
						title={`Copy ${shortened(place, 300)}`}
						onClick={() => copy(place, 'the place')}>
						{shortPlace(place)}
					</button>
				)}
			</th>
			{columns.map((c) => (
				<td key={c.key} title={titleOf(c, row, p)} class={c.rank ? signClass(c.value(row, p)) : ''}>
					{c.share && (
						<span class="bar" style={{ width: `${Math.min(100, c.share(row, p) * 100)}%` }} />
					)}
					<span class="num">{c.text(row, p)}</span>
					{c.share && <span class="share">{percent(c.share(row, p), 1)}</span>}
				</td>
			))}
			<td class="slim">
				<button
					type="button"
					class="plain icon"
					aria-label={`Sandwich view of ${visible(name).slice(0, 80)}`}
					title="Callers and callees"
					onClick={() => p.onSandwich(row.name)}>
					<Icon name="sandwich" />
				</button>
			</td>
		</tr>
	);
}

const signClass = (value: number) => (value > 0 ? 'grown' : value < 0 ? 'shrunk' : '');

function titleOf(column: Column, row: Row, p: TableProps): string {
	if (p.mode === 'normalised' || column.key === 'relative') return '';
	return exact(column.value(row, p), p.unit);
}
