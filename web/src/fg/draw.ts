/*
 * One picture of a layout on a canvas. Only what is in view is drawn: rows by the scroll offset,
 * nodes of a row from the first one in view; those too narrow to see become one grey run.
 */
import { INK, type Paint } from './color';
import { firstBehind, type Layout } from './layout';

export const ROW = 20;
const NARROWEST = 0.5;
const TEXT_FROM = 28;
const FONT = '12px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

export interface Window {
	readonly x0: number; // in units of weight
	readonly x1: number;
}

export interface Scene {
	readonly layout: Layout;
	readonly window: Window;
	readonly focusRow: number; // rows before it are dimmed; 0: none
	readonly hits: Uint8Array | null; // by name
	readonly paint: Paint;
	readonly label: (node: number) => string;
	readonly hover: number;
	readonly cursor: number;
	readonly hoverName: number;
	readonly direction: 'down' | 'up';
	readonly marks: { readonly fresh: Uint8Array; readonly gone: Uint8Array } | null; // of a comparison
	readonly theme: {
		readonly back: string;
		readonly faint: string;
		readonly faintInk: string;
		readonly line: string;
	};
}

export interface Box {
	readonly node: number;
	readonly x: number;
	readonly y: number;
	readonly width: number;
}

/** Draws what is between two heights of the whole picture; gives the number of rectangles. */
export function draw(
	canvas: HTMLCanvasElement,
	scene: Scene,
	top: number,
	width: number,
	height: number,
): number {
	const scale = window.devicePixelRatio || 1;
	const wide = Math.max(1, Math.round(width * scale));
	const high = Math.max(1, Math.round(height * scale));
	if (canvas.width !== wide || canvas.height !== high) {
		canvas.width = wide;
		canvas.height = high;
	}
	const g = canvas.getContext('2d')!;
	g.setTransform(scale, 0, 0, scale, 0, 0);
	g.fillStyle = scene.theme.back;
	g.fillRect(0, 0, width, height);
	g.font = FONT;
	g.textBaseline = 'middle';
	let drawn = 0;
	for (const row of rowsBetween(scene, top, height))
		drawn += drawRow(g, scene, row, yOf(scene, row) - top, width);
	return drawn;
}

export function heightOf(scene: { layout: Layout }): number {
	return scene.layout.rows.length * ROW;
}

export function yOf(scene: { layout: Layout; direction: 'down' | 'up' }, row: number): number {
	return (scene.direction === 'down' ? row : scene.layout.rows.length - 1 - row) * ROW;
}

export function rowAt(scene: { layout: Layout; direction: 'down' | 'up' }, y: number): number {
	const row = Math.floor(y / ROW);
	return scene.direction === 'down' ? row : scene.layout.rows.length - 1 - row;
}

function* rowsBetween(scene: Scene, top: number, height: number): Generator<number> {
	const first = Math.max(0, Math.floor(top / ROW));
	const last = Math.min(scene.layout.rows.length - 1, Math.floor((top + height) / ROW));
	for (let i = first; i <= last; i++) yield rowAt(scene, i * ROW);
}

function drawRow(g: CanvasRenderingContext2D, scene: Scene, row: number, y: number, width: number): number {
	let drawn = 0;
	let greyFrom = 0;
	let greyTo = -1;
	const grey = () => {
		if (greyTo < greyFrom) return;
		g.fillStyle = scene.theme.faintInk;
		g.fillRect(greyFrom, y, Math.max(1, greyTo - greyFrom), ROW - 1);
		greyTo = -1;
		drawn++;
	};
	for (const box of boxesOf(scene, row, width)) {
		if (box.width < NARROWEST) {
			if (greyTo < 0 || box.x > greyTo + 1) {
				grey();
				greyFrom = box.x;
			}
			greyTo = Math.max(greyTo, box.x + box.width);
			continue;
		}
		drawBox(g, scene, box.node, box.x, y, box.width, row < scene.focusRow);
		drawn++;
	}
	grey();
	return drawn;
}

/** What of a row is in the window, from left to right, in pixels. */
export function* boxesOf(
	scene: Pick<Scene, 'layout' | 'window'>,
	row: number,
	width: number,
): Generator<Box> {
	const { layout } = scene;
	const { x0, x1 } = scene.window;
	const nodes = layout.rows[row];
	if (!nodes || x1 <= x0) return;
	const k = width / (x1 - x0);
	for (let j = firstBehind(layout, nodes, x0); j < nodes.length; j++) {
		const node = nodes[j]!;
		if (layout.start[node]! >= x1) break;
		const left = Math.max(0, (layout.start[node]! - x0) * k);
		const right = Math.min(width, (layout.start[node]! + layout.weight[node]! - x0) * k);
		yield { node, x: left, y: row * ROW, width: right - left };
	}
}

function drawBox(
	g: CanvasRenderingContext2D,
	scene: Scene,
	node: number,
	x: number,
	y: number,
	w: number,
	above: boolean,
): void {
	const name = scene.layout.tree.name[node]!;
	const faint = above || (scene.hits !== null && !scene.hits[name]);
	const wide = Math.max(w - 1, NARROWEST);
	g.fillStyle = faint ? scene.theme.faint : scene.paint(node);
	g.fillRect(x, y, wide, ROW - 1);
	if (scene.marks?.fresh[node]) hatch(g, x, y, wide);
	if (scene.marks?.gone[node]) outline(g, x, y, wide, INK, [3, 2]);
	if (node === scene.hover || node === scene.cursor) outline(g, x, y, wide, scene.theme.line, []);
	else if (name === scene.hoverName && w > 2) outline(g, x, y, wide, scene.theme.line, [2, 2]);
	if (w <= TEXT_FROM) return;
	g.save();
	g.beginPath();
	g.rect(x, y, w - 4, ROW);
	g.clip();
	g.fillStyle = faint ? scene.theme.faintInk : INK;
	g.fillText(scene.label(node).slice(0, Math.ceil(w / 2.5)), x + 5, y + ROW / 2);
	g.restore();
}

function outline(
	g: CanvasRenderingContext2D,
	x: number,
	y: number,
	w: number,
	color: string,
	dash: number[],
): void {
	g.strokeStyle = color;
	g.lineWidth = 1.5;
	g.setLineDash(dash);
	g.strokeRect(x + 0.75, y + 0.75, Math.max(w - 1.5, 0.5), ROW - 2.5);
	g.setLineDash([]);
}

function hatch(g: CanvasRenderingContext2D, x: number, y: number, w: number): void {
	g.save();
	g.beginPath();
	g.rect(x, y, w, ROW - 1);
	g.clip();
	g.strokeStyle = 'rgb(13 17 23 / 0.22)';
	g.lineWidth = 1;
	g.beginPath();
	for (let s = x - ROW; s < Math.min(x + w, x + 4000); s += 7) {
		g.moveTo(s, y + ROW);
		g.lineTo(s + ROW, y);
	}
	g.stroke();
	g.restore();
}
