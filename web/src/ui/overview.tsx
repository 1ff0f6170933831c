/*
 * A strip of the whole range with a lens: the part that a chart below shows. Dragging draws a new
 * lens, dragging inside moves it, a click takes it away. The keyboard: arrows move, + and - resize.
 */
import { useRef, useState } from 'preact/hooks';
import { stamp } from '../state/time';

export interface Lens {
	readonly from: number;
	readonly until: number;
}

export interface OverviewProps {
	readonly times: readonly number[]; // ms
	readonly values: readonly (number | null)[];
	readonly lens: Lens | null;
	readonly onLens: (lens: Lens | null) => void;
}

const [WIDTH, HEIGHT] = [1000, 40];
const DRAG_PX = 5;

export function Overview({ times, values, lens, onLens }: OverviewProps) {
	const strip = useRef<HTMLDivElement>(null);
	const [drag, setDrag] = useState<{ at: number; base: Lens | null; now: Lens } | null>(null);
	const [t0, t1] = [times[0] ?? 0, times[times.length - 1] ?? 1];
	const shown = drag?.now ?? lens;
	const timeAt = (event: PointerEvent) => {
		const box = strip.current!.getBoundingClientRect();
		return t0 + Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * (t1 - t0);
	};
	const onDown = (event: PointerEvent) => {
		if (event.button !== 0) return;
		const at = timeAt(event);
		strip.current!.setPointerCapture(event.pointerId);
		const inside = lens !== null && at > lens.from && at < lens.until;
		setDrag({ at, base: inside ? lens : null, now: inside ? lens : { from: at, until: at } });
	};
	const onMove = (event: PointerEvent) => {
		if (!drag) return;
		const to = timeAt(event);
		const now = drag.base
			? moved(drag.base, to - drag.at, t0, t1)
			: { from: Math.min(drag.at, to), until: Math.max(drag.at, to) };
		setDrag({ ...drag, now });
	};
	const onUp = (event: PointerEvent) => {
		if (!drag) return;
		setDrag(null);
		const far =
			(Math.abs(timeAt(event) - drag.at) / (t1 - t0 || 1)) * strip.current!.clientWidth >= DRAG_PX;
		onLens(far ? drag.now : null);
	};
	const onKey = (event: KeyboardEvent) => {
		const from = lens ?? { from: t0 + (t1 - t0) / 4, until: t1 - (t1 - t0) / 4 };
		const next = byKey(event.key, from, t0, t1);
		if (next === undefined) return;
		event.preventDefault();
		event.stopPropagation();
		onLens(next);
	};
	const share = (t: number) => `${((t - t0) / (t1 - t0 || 1)) * 100}%`;
	return (
		<div
			class="overview"
			ref={strip}
			role="slider"
			tabIndex={0}
			aria-label="Part of the range that is shown"
			aria-valuemin={0}
			aria-valuemax={100}
			aria-valuenow={shown ? Math.round(((shown.from - t0) / (t1 - t0 || 1)) * 100) : 0}
			aria-valuetext={shown ? `${stamp(shown.from)} to ${stamp(shown.until)}` : 'all of it'}
			onPointerDown={onDown}
			onPointerMove={onMove}
			onPointerUp={onUp}
			onPointerCancel={() => setDrag(null)}
			onKeyDown={onKey}>
			<svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
				<path d={areaOf(times, values, t0, t1)} />
			</svg>
			{shown && (
				<div
					class="lens"
					style={{ left: share(shown.from), right: `calc(100% - ${share(shown.until)})` }}
				/>
			)}
		</div>
	);
}

function moved(lens: Lens, by: number, t0: number, t1: number): Lens {
	const step = Math.max(t0 - lens.from, Math.min(t1 - lens.until, by));
	return { from: lens.from + step, until: lens.until + step };
}

/** undefined: a key that means nothing here; null: no lens any more. */
function byKey(key: string, lens: Lens, t0: number, t1: number): Lens | null | undefined {
	const tenth = (lens.until - lens.from) / 10;
	if (key === 'ArrowLeft') return moved(lens, -tenth, t0, t1);
	if (key === 'ArrowRight') return moved(lens, tenth, t0, t1);
	if (key === '+') return { from: lens.from + tenth, until: lens.until - tenth };
	if (key === '-')
		return { from: Math.max(t0, lens.from - tenth), until: Math.min(t1, lens.until + tenth) };
	return key === 'Escape' || key === 'Delete' ? null : undefined;
}

/** Runs of known values, each down to the ground. */
export function areaOf(
	times: readonly number[],
	values: readonly (number | null)[],
	t0: number,
	t1: number,
): string {
	const most = Math.max(1, ...values.map((v) => v ?? 0));
	const x = (i: number) => (((times[i]! - t0) / (t1 - t0 || 1)) * WIDTH).toFixed(1);
	const y = (value: number) => (HEIGHT - (value / most) * (HEIGHT - 3)).toFixed(1);
	let path = '';
	for (let i = 0; i < values.length; i++) {
		if (values[i] === null) continue;
		path += `M${x(i)} ${HEIGHT}`;
		for (; i < values.length && values[i] !== null; i++) path += `L${x(i)} ${y(values[i]!)}`;
		path += `L${x(i - 1)} ${HEIGHT}Z`;
	}
	return path;
}

/** What of a chart lies in a lens, with one point beyond either edge. */
export function withinLens(times: readonly number[], lens: Lens): [number, number] {
	let from = 0;
	let until = times.length;
	while (from + 1 < until && times[from + 1]! <= lens.from) from++;
	while (until - 1 > from + 1 && times[until - 2]! >= lens.until) until--;
	return [from, until];
}
