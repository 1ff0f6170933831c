/* The border between two columns, to be dragged or moved by the arrow keys. */
import { useRef } from 'preact/hooks';

const [LEAST, MOST, STEP] = [15, 80, 3];

export function Divider({ value, onChange }: { value: number; onChange: (percent: number) => void }) {
	const bar = useRef<HTMLDivElement>(null);
	const move = (event: PointerEvent) => {
		if (!bar.current?.hasPointerCapture(event.pointerId)) return;
		const box = bar.current.parentElement!.getBoundingClientRect();
		onChange(clamp(((event.clientX - box.left) / box.width) * 100));
	};
	return (
		<div
			ref={bar}
			class="divider"
			role="separator"
			aria-orientation="vertical"
			aria-label="Width of the table"
			tabIndex={0}
			aria-valuenow={Math.round(value)}
			aria-valuemin={LEAST}
			aria-valuemax={MOST}
			onPointerDown={(e) => bar.current!.setPointerCapture(e.pointerId)}
			onPointerMove={move}
			onKeyDown={(e) => {
				if (e.key === 'ArrowLeft') onChange(clamp(value - STEP));
				if (e.key === 'ArrowRight') onChange(clamp(value + STEP));
			}}
		/>
	);
}

const clamp = (percent: number) => Math.round(Math.max(LEAST, Math.min(MOST, percent)) * 10) / 10;
