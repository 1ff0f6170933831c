/*
 * The canvas of a flame graph: a viewport that scrolls over the picture, the pointer and the
 * cursor keys. What a node, a range or the menu is picked for is the caller's business.
 */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { themed } from '../state/theme';
import { boxesOf, draw, heightOf, rowAt, ROW, type Scene, yOf } from './draw';
import { nodeAt } from './layout';
import { childrenOf } from './tree';

export interface CanvasProps {
	readonly scene: Omit<Scene, 'theme'>;
	readonly title: string;
	readonly highest: number; // px; a taller picture scrolls
	readonly onHover: (node: number, x: number, y: number) => void;
	readonly onPick: (node: number) => void;
	readonly onMenu: (node: number, x: number, y: number) => void;
	readonly onRange: (x0: number, x1: number) => void;
	readonly onCursor: (node: number) => void;
}

const LONG_PRESS_MS = 550;
const SCROLL_SLACK = 2;

export function FlameCanvas(props: CanvasProps) {
	const { scene } = props;
	const scroller = useRef<HTMLDivElement>(null);
	const canvas = useRef<HTMLCanvasElement>(null);
	const [width, setWidth] = useState(0);
	const [top, setTop] = useState(0);
	const [turn, setTurn] = useState(0); // of the theme
	const drag = useRef<{ from: number; to: number } | null>(null);
	const press = useRef<ReturnType<typeof setTimeout> | null>(null);
	const whole = heightOf(scene);
	const height = Math.max(ROW, Math.min(whole, props.highest));

	useLayoutEffect(() => {
		const element = scroller.current!;
		const measure = () => setWidth(element.clientWidth);
		measure();
		const observer = new ResizeObserver(measure);
		observer.observe(element);
		const retheme = () => setTurn((t) => t + 1);
		themed.addEventListener('themed', retheme);
		return () => {
			observer.disconnect();
			themed.removeEventListener('themed', retheme);
		};
	}, []);
	useLayoutEffect(() => {
		if (scene.direction === 'up' && scroller.current) scroller.current.scrollTop = whole;
	}, [scene.direction, whole > height]);
	useEffect(() => {
		if (width === 0) return;
		const began = performance.now();
		const full: Scene = { ...scene, theme: readTheme(scroller.current!) };
		const drawn = draw(canvas.current!, full, Math.min(top, Math.max(0, whole - height)), width, height);
		expose(canvas.current!, full, width, drawn, performance.now() - began);
	});
	useEffect(() => show(scroller.current, scene, height), [scene.cursor]);
	void turn;

	const place = (event: MouseEvent) => {
		const box = canvas.current!.getBoundingClientRect();
		const { x0, x1 } = scene.window;
		const x = x0 + ((event.clientX - box.left) / width) * (x1 - x0);
		const y = event.clientY - box.top + Math.min(top, Math.max(0, whole - height));
		return { x, node: nodeAt(scene.layout, rowAt(scene, y), x) };
	};
	const stopPress = () => {
		if (press.current) clearTimeout(press.current);
		press.current = null;
	};
	const onPointerDown = (event: PointerEvent) => {
		const { x, node } = place(event);
		if (event.shiftKey && event.button === 0) drag.current = { from: x, to: x };
		if (event.pointerType !== 'touch' || node < 0) return;
		stopPress();
		press.current = setTimeout(() => props.onMenu(node, event.clientX, event.clientY), LONG_PRESS_MS);
	};
	const onPointerUp = () => {
		stopPress();
		const range = drag.current;
		if (!range || range.from === range.to) return;
		props.onRange(Math.min(range.from, range.to), Math.max(range.from, range.to));
	};
	const onClick = (event: MouseEvent) => {
		if (drag.current) {
			drag.current = null;
			return;
		}
		const { node } = place(event);
		if (node >= 0) props.onPick(node);
	};
	const onMove = (event: PointerEvent) => {
		const { x, node } = place(event);
		if (drag.current) drag.current.to = x;
		if (event.pointerType === 'touch') return;
		props.onHover(node, event.clientX, event.clientY);
	};
	const onKey = (event: KeyboardEvent) => {
		const next = neighbour(scene, event.key);
		if (next === null) return;
		event.preventDefault();
		event.stopPropagation();
		props.onCursor(next);
	};

	return (
		<div
			class="fg-scroll"
			ref={scroller}
			style={{ height: `${height}px` }}
			onScroll={(e) =>
				Math.abs(e.currentTarget.scrollTop - top) >= SCROLL_SLACK && setTop(e.currentTarget.scrollTop)
			}>
			<div style={{ height: `${whole}px` }}>
				<canvas
					ref={canvas}
					class="fg-canvas"
					role="application"
					tabIndex={0}
					aria-label={props.title}
					aria-roledescription="flame graph"
					style={{ width: '100%', height: `${height}px` }}
					onPointerMove={onMove}
					onPointerLeave={() => (stopPress(), props.onHover(-1, 0, 0))}
					onPointerDown={onPointerDown}
					onPointerUp={onPointerUp}
					onPointerCancel={stopPress}
					onClick={onClick}
					onKeyDown={onKey}
					onFocus={() => scene.cursor < 0 && props.onCursor(0)}
					onContextMenu={(event) => {
						const { node } = place(event);
						event.preventDefault();
						if (node >= 0) props.onMenu(node, event.clientX, event.clientY);
					}}
				/>
			</div>
		</div>
	);
}

/** Where a cursor key leads; null: it is none of them. */
function neighbour(scene: Omit<Scene, 'theme'>, key: string): number | null {
	const { layout, cursor } = scene;
	const { tree } = layout;
	const at = Math.max(0, cursor);
	const towardsRoot = scene.direction === 'down' ? 'ArrowUp' : 'ArrowDown';
	const away = scene.direction === 'down' ? 'ArrowDown' : 'ArrowUp';
	if (key === towardsRoot) {
		let up = tree.parent[at]!;
		while (up > 0 && layout.row[up]! < 0) up = tree.parent[up]!;
		return Math.max(0, up);
	}
	if (key === away) return biggestChild(scene, at);
	if (key !== 'ArrowLeft' && key !== 'ArrowRight') return null;
	const row = layout.rows[layout.row[at]!] ?? new Int32Array();
	const next = row[row.indexOf(at) + (key === 'ArrowLeft' ? -1 : 1)];
	return next === undefined ? at : next;
}

/** Of those that are shown; hidden members of a group are passed through. */
function biggestChild(scene: Omit<Scene, 'theme'>, node: number): number {
	const { layout } = scene;
	let best = node;
	let weight = -1;
	let at = node;
	for (;;) {
		const inner = [...childrenOf(layout.tree, at)];
		for (const child of inner) {
			if (layout.row[child]! < 0 || layout.weight[child]! <= weight) continue;
			best = child;
			weight = layout.weight[child]!;
		}
		if (best !== node || inner.length !== 1) return best;
		at = inner[0]!;
	}
}

function show(scroller: HTMLDivElement | null, scene: Omit<Scene, 'theme'>, height: number): void {
	if (!scroller || scene.cursor < 0) return;
	const y = yOf(scene, scene.layout.row[scene.cursor]!);
	if (y < scroller.scrollTop) scroller.scrollTop = y;
	else if (y + ROW > scroller.scrollTop + height) scroller.scrollTop = y + ROW - height;
}

function readTheme(element: Element): Scene['theme'] {
	const style = getComputedStyle(element);
	const color = (name: string) => style.getPropertyValue(name).trim();
	return {
		back: color('--card'),
		faint: color('--faint'),
		faintInk: color('--faint-ink'),
		line: color('--ink'),
	};
}

/** For tests: what was drawn, where, and how long it took. */
function expose(canvas: HTMLCanvasElement, scene: Scene, width: number, drawn: number, ms: number): void {
	const measured = canvas as HTMLCanvasElement & { __fg?: { first: number; [more: string]: unknown } };
	const now = performance.now();
	measured.__fg = {
		drawn,
		ms,
		at: now,
		first: measured.__fg?.first ?? now,
		layout: () =>
			scene.layout.rows.flatMap((_, row) =>
				[...boxesOf(scene, row, width)].map((box) => ({
					name: scene.layout.tree.frames.names[scene.layout.tree.name[box.node]!],
					row,
					x: box.x,
					y: yOf(scene, row),
					width: box.width,
					total: scene.layout.tree.total[box.node],
					self: scene.layout.tree.self[box.node],
					badge: scene.layout.badge[box.node],
				})),
			),
	};
}
