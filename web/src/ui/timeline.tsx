/*
 * Values over time. Dragging chooses a range, a click a moment; with the keyboard the arrows move a
 * cursor and Enter chooses its moment.
 */
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { themed } from '../state/theme';
import { clock, stamp } from '../state/time';
import { format } from '../state/units';
import { bandsOf, type Line, mostOf, nearest, type Plane, timeOf, xOf } from './chart';
import { drawChart, type Mark } from './chart_draw';
import { shortened } from './text';

export type { Line } from './chart';
export type { Mark } from './chart_draw';

export interface TimelineProps {
	readonly title: string;
	readonly times: readonly number[]; // ms
	readonly lines: readonly Line[];
	readonly unit: string;
	readonly height: number;
	readonly stacked?: 'stacked' | 'lines';
	readonly marks?: readonly Mark[];
	readonly at?: number | null; // the moment that is shown
	readonly span?: { readonly from: number; readonly until: number } | null; // the range that is shown
	readonly pins?: readonly { readonly t: number; readonly name: string }[];
	readonly onRange?: (from: number, until: number) => void;
	readonly onMoment?: (t: number) => void;
}

export const LINE_COLORS = [
	'#4f8fe8',
	'#e8924f',
	'#55b46a',
	'#b77fe0',
	'#e0607e',
	'#3fb5b5',
	'#c7a93a',
	'#8b93d6',
	'#d67fb7',
	'#7a9a4a',
];
export const OTHER_COLOR = '#8b93a0';
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 10, 14, 24];
const DRAG_PX = 6;

export function Timeline(p: TimelineProps) {
	const box = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const width = useWidth(box);
	const turn = useThemeTurn();
	const [cursor, setCursor] = useState(-1); // index into times
	const [drag, setDrag] = useState<{ from: number; to: number } | null>(null); // px
	const stacked = p.stacked ?? 'lines';
	const bands = useMemo(() => bandsOf(p.lines, stacked), [p.lines, stacked]);
	const plane: Plane = {
		left: LEFT,
		top: TOP,
		width: Math.max(10, width - LEFT - RIGHT),
		height: p.height - TOP - BOTTOM,
		t0: p.times[0] ?? 0,
		t1: Math.max(p.times[p.times.length - 1] ?? 1, (p.times[0] ?? 0) + 1),
		most: useMemo(() => mostOf(bands), [bands]),
	};
	useEffect(() => {
		if (width === 0) return;
		const style = getComputedStyle(box.current!);
		const color = (name: string) => style.getPropertyValue(name).trim();
		const uprights = [
			...(p.at ? [{ t: p.at, name: clock(p.at), color: color('--accent') }] : []),
			...(p.pins ?? []).map((pin) => ({ ...pin, color: color('--ink') })),
		];
		drawChart(
			canvas.current!,
			{
				plane,
				times: p.times,
				lines: p.lines,
				bands,
				stacked,
				unit: p.unit,
				marks: p.marks ?? [],
				uprights,
				color,
			},
			width,
			p.height,
		);
	}, [p.times, p.lines, bands, p.unit, p.height, p.marks, p.at, p.pins, width, turn]);

	const xAt = (event: PointerEvent) =>
		Math.max(
			LEFT,
			Math.min(LEFT + plane.width, event.clientX - box.current!.getBoundingClientRect().left),
		);
	const onUp = (event: PointerEvent) => {
		if (!drag) return;
		setDrag(null);
		const to = xAt(event);
		if (Math.abs(to - drag.from) < DRAG_PX) {
			p.onMoment?.(Math.round(timeOf(plane, to)));
			return;
		}
		const [from, until] = [drag.from, to].sort((a, b) => a - b).map((x) => Math.round(timeOf(plane, x)));
		p.onRange?.(from!, until!);
	};
	const onKey = (event: KeyboardEvent) => {
		const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (step)
			setCursor(
				Math.max(0, Math.min(p.times.length - 1, (cursor < 0 ? p.times.length : cursor) + step)),
			);
		else if (event.key === 'Enter' && cursor >= 0) p.onMoment?.(p.times[cursor]!);
		else if (event.key === 'Escape') setCursor(-1);
		else return;
		event.preventDefault();
		event.stopPropagation();
	};
	const at = cursor >= 0 ? p.times[cursor] : undefined;
	return (
		<div
			class="timeline"
			ref={box}
			style={{ height: `${p.height}px` }}
			role="slider"
			tabIndex={0}
			aria-label={p.title}
			onKeyDown={onKey}
			aria-valuemin={0}
			aria-valuemax={Math.max(0, p.times.length - 1)}
			aria-valuenow={Math.max(0, cursor)}
			aria-valuetext={at === undefined ? 'no moment' : said(p, cursor)}
			onPointerDown={(e) =>
				e.button === 0 &&
				(box.current!.setPointerCapture(e.pointerId), setDrag({ from: xAt(e), to: xAt(e) }))
			}
			onPointerMove={(e) => (
				setCursor(nearest(p.times, timeOf(plane, xAt(e)))),
				drag && setDrag({ ...drag, to: xAt(e) })
			)}
			onPointerUp={onUp}
			onPointerCancel={() => setDrag(null)}
			onPointerLeave={() => !drag && setCursor(-1)}
			onBlur={() => setCursor(-1)}>
			<canvas ref={canvas} style={{ width: `${width}px`, height: `${p.height}px` }} />
			{p.span && !drag && (
				<Selected plane={plane} x0={xOf(plane, p.span.from)} x1={xOf(plane, p.span.until)} />
			)}
			{drag && p.onRange && <Selected plane={plane} x0={drag.from} x1={drag.to} />}
			{at !== undefined && (
				<div
					class="timeline-cursor"
					style={{ left: `${xOf(plane, at)}px`, top: `${TOP}px`, height: `${plane.height}px` }}
				/>
			)}
			{at !== undefined && (
				<Note
					p={p}
					index={cursor}
					side={xOf(plane, at) > LEFT + plane.width / 2 ? 'left' : 'right'}
				/>
			)}
		</div>
	);
}

function useWidth(box: { current: HTMLElement | null }): number {
	const [width, setWidth] = useState(0);
	useLayoutEffect(() => {
		const measure = () => setWidth(box.current!.clientWidth);
		measure();
		const observer = new ResizeObserver(measure);
		observer.observe(box.current!);
		return () => observer.disconnect();
	}, []);
	return width;
}

function useThemeTurn(): number {
	const [turn, setTurn] = useState(0);
	useEffect(() => {
		const next = () => setTurn((t) => t + 1);
		themed.addEventListener('themed', next);
		return () => themed.removeEventListener('themed', next);
	}, []);
	return turn;
}

function Selected({ plane, x0, x1 }: { plane: Plane; x0: number; x1: number }) {
	const [left, right] = [
		Math.max(plane.left, Math.min(x0, x1)),
		Math.min(plane.left + plane.width, Math.max(x0, x1)),
	];
	return (
		<div
			class="timeline-selected"
			style={{
				left: `${left}px`,
				width: `${Math.max(0, right - left)}px`,
				top: `${plane.top}px`,
				height: `${plane.height}px`,
			}}
		/>
	);
}

const NOTED = 6;

function rowsAt(p: TimelineProps, index: number): { line: Line; value: number }[] {
	return p.lines
		.flatMap((line) =>
			typeof line.values[index] === 'number' ? [{ line, value: line.values[index] }] : [],
		)
		.sort((a, b) => b.value - a.value)
		.slice(0, NOTED);
}

const said = (p: TimelineProps, index: number) =>
	[
		stamp(p.times[index]!),
		...rowsAt(p, index).map(({ line, value }) => `${shortened(line.label, 40)} ${format(value, p.unit)}`),
	].join(', ');

function Note({ p, index, side }: { p: TimelineProps; index: number; side: 'left' | 'right' }) {
	const rows = rowsAt(p, index);
	return (
		<div class={`timeline-note ${side}`} aria-hidden="true">
			<div>{stamp(p.times[index]!)}</div>
			{rows.map(({ line, value }) => (
				<div key={line.label}>
					<span class="swatch" style={{ background: line.color }} />
					<bdi>{shortened(line.label, 40)}</bdi> <b>{format(value, p.unit)}</b>
				</div>
			))}
			{rows.length === 0 && <div class="quiet">not known</div>}
		</div>
	);
}
