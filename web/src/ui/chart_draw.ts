/* A chart on a canvas: grid, bands or lines, marks. What moves with the pointer is not drawn here. */
import { format } from '../state/units';
import { type Band, type Line, type Plane, timeTicks, valueTicks, xOf, yOf } from './chart';

export interface Mark {
	readonly t: number;
	readonly kind: string;
	readonly title: string;
}

export interface Upright {
	readonly t: number;
	readonly name: string;
	readonly color: string;
}

export interface Picture {
	readonly plane: Plane;
	readonly times: readonly number[];
	readonly lines: readonly Line[];
	readonly bands: readonly Band[];
	readonly stacked: 'stacked' | 'lines';
	readonly unit: string;
	readonly marks: readonly Mark[];
	readonly uprights: readonly Upright[];
	readonly color: (name: string) => string;
}

const FONT = '11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';
const MARK_GLYPHS: Record<string, string> = { oom: '▲', start: '▸', exit: '◂', peak: '◆' };
const PX_PER_TIME = 90;
const PX_PER_VALUE = 38;

export function drawChart(canvas: HTMLCanvasElement, picture: Picture, width: number, height: number): void {
	const scale = window.devicePixelRatio || 1;
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	const g = canvas.getContext('2d')!;
	g.setTransform(scale, 0, 0, scale, 0, 0);
	g.clearRect(0, 0, width, height);
	g.font = FONT;
	drawGrid(g, picture);
	g.save();
	g.beginPath();
	g.rect(picture.plane.left, 0, picture.plane.width, height);
	g.clip();
	picture.lines.forEach((line, i) => drawLine(g, picture, line, picture.bands[i]!));
	for (const upright of picture.uprights) drawUpright(g, picture.plane, upright, picture.color('--card'));
	for (const mark of picture.marks) drawMark(g, picture, mark);
	g.restore();
}

function drawGrid(g: CanvasRenderingContext2D, { plane: p, unit, color }: Picture): void {
	g.strokeStyle = color('--grid');
	g.fillStyle = color('--quiet');
	g.lineWidth = 1;
	g.textAlign = 'right';
	g.textBaseline = 'middle';
	for (const value of valueTicks(p.most, unit, Math.max(2, Math.floor(p.height / PX_PER_VALUE)))) {
		const y = Math.round(yOf(p, value)) + 0.5;
		stroke(g, p.left, y, p.left + p.width, y);
		g.fillText(format(value, unit), p.left - 7, y);
	}
	g.textAlign = 'center';
	g.textBaseline = 'top';
	for (const tick of timeTicks(p.t0, p.t1, Math.max(2, Math.floor(p.width / PX_PER_TIME)))) {
		const x = Math.round(xOf(p, tick.t)) + 0.5;
		stroke(g, x, p.top, x, p.top + p.height);
		if (x > p.left + 8 && x < p.left + p.width - 12) g.fillText(tick.text, x, p.top + p.height + 6);
	}
}

function stroke(g: CanvasRenderingContext2D, x0: number, y0: number, x1: number, y1: number): void {
	g.beginPath();
	g.moveTo(x0, y0);
	g.lineTo(x1, y1);
	g.stroke();
}

/** Runs without a gap; a single point between gaps is a short dash. */
function* runsOf(values: readonly (number | null)[]): Generator<[number, number]> {
	for (let i = 0; i < values.length; i++) {
		if (values[i] === null || values[i] === undefined) continue;
		const from = i;
		while (values[i + 1] !== null && values[i + 1] !== undefined) i++;
		yield [from, i];
	}
}

function drawLine(g: CanvasRenderingContext2D, picture: Picture, line: Line, band: Band): void {
	const { plane: p, times, stacked, lines } = picture;
	const filled = !line.dash && (stacked === 'stacked' || lines.length === 1);
	g.strokeStyle = g.fillStyle = line.color;
	g.lineWidth = line.dash ? 1.2 : 1.6;
	g.lineJoin = 'round';
	g.setLineDash([...(line.dash ?? [])]);
	for (const [from, to] of runsOf(band.high)) {
		const x = (i: number) => xOf(p, times[i]!);
		g.beginPath();
		g.moveTo(x(from) - (from === to ? 2 : 0), yOf(p, band.high[from]!));
		for (let i = from; i <= to; i++) g.lineTo(x(i) + (from === to ? 2 : 0), yOf(p, band.high[i]!));
		g.stroke();
		if (!filled) continue;
		for (let i = to; i >= from; i--) g.lineTo(x(i), yOf(p, band.low[i]!));
		g.closePath();
		g.globalAlpha = lines.length === 1 ? 0.18 : 0.6;
		g.fill();
		g.globalAlpha = 1;
	}
	g.setLineDash([]);
}

function drawUpright(g: CanvasRenderingContext2D, p: Plane, { t, name, color }: Upright, back: string): void {
	const x = xOf(p, t);
	g.strokeStyle = g.fillStyle = color;
	g.lineWidth = 1.5;
	stroke(g, x, p.top, x, p.top + p.height);
	const wide = g.measureText(name).width + 8;
	const left = x + wide > p.left + p.width ? x - wide : x;
	g.fillRect(left, p.top, wide, 15);
	g.fillStyle = back;
	g.textAlign = 'left';
	g.textBaseline = 'top';
	g.fillText(name, left + 4, p.top + 2.5);
}

function drawMark(g: CanvasRenderingContext2D, { plane: p, color }: Picture, mark: Mark): void {
	const low = mark.kind === 'start' || mark.kind === 'exit';
	g.fillStyle = color(mark.kind === 'oom' ? '--bad' : '--quiet');
	g.textAlign = 'center';
	g.textBaseline = low ? 'bottom' : 'top';
	g.fillText(
		MARK_GLYPHS[mark.kind] ?? '•',
		xOf(p, mark.t),
		low ? p.top + p.height : Math.max(0, p.top - 13),
	);
}
