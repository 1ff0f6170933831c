/* Which time is looked at: presets, two times as text, steps, and following the present. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { change } from '../state/location';
import { asRange, moved, REFRESHES, type Timed, zoomedOut } from '../state/range';
import { describeRange, isRelative, PRESETS, type Range, readTime, stamp } from '../state/time';
import { Icon } from './icons';
import { MenuButton } from './menu';

/** `keep` are parameters that a new range makes meaningless. */
export function TimePicker({ timed, clears = [] }: { timed: Timed; clears?: readonly string[] }) {
	const [open, setOpen] = useState(false);
	const gone = Object.fromEntries(clears.map((name) => [name, null]));
	const set = (range: Range) => {
		setOpen(false);
		change({ ...gone, from: range.from, until: range.until });
		timed.again();
	};
	return (
		<div class="time-picker" role="group" aria-label="Time">
			<button
				type="button"
				class="icon-button"
				aria-label="Earlier"
				title="Earlier"
				onClick={() => set(asRange(moved(timed.span, -1)))}>
				<Icon name="back" />
			</button>
			<div class="drop">
				<button
					type="button"
					aria-expanded={open}
					aria-haspopup="dialog"
					onClick={() => setOpen(!open)}
					title={`${stamp(timed.span.from)} – ${stamp(timed.span.until)}`}>
					{describeRange(timed.range, timed.now)} ▾
				</button>
				{open && <RangeForm timed={timed} onSet={set} onClose={() => setOpen(false)} />}
			</div>
			<button
				type="button"
				class="icon-button"
				aria-label="Later"
				title="Later"
				onClick={() => set(asRange(moved(timed.span, 1)))}>
				<Icon name="forward" />
			</button>
			<button
				type="button"
				class="icon-button"
				aria-label="Zoom out"
				title="Twice as long"
				onClick={() => set(asRange(zoomedOut(timed.span, timed.now)))}>
				<Icon name="out" />
			</button>
			<button
				type="button"
				class="icon-button"
				aria-label="Ask again"
				title="Ask again"
				onClick={timed.again}>
				<Icon name="refresh" />
			</button>
			<MenuButton
				label="Follow the present"
				entries={REFRESHES.map((every) => ({
					title: every === 'off' ? 'Do not follow' : `Every ${every}`,
					checked: timed.refresh === every,
					off:
						every !== 'off' && !isRelative(timed.range)
							? 'This range does not end now'
							: undefined,
					act: () => change({ refresh: every === 'off' ? null : every }),
				}))}>
				{timed.refresh === 'off' ? 'Follow' : timed.refresh} ▾
			</MenuButton>
		</div>
	);
}

function RangeForm({
	timed,
	onSet,
	onClose,
}: {
	timed: Timed;
	onSet: (range: Range) => void;
	onClose: () => void;
}) {
	const written = (text: string, ms: number) => (/^\d+$/.test(text) ? stamp(ms) : text);
	const [from, setFrom] = useState(written(timed.range.from, timed.span.from));
	const [until, setUntil] = useState(written(timed.range.until, timed.span.until));
	const form = useRef<HTMLFormElement>(null);
	useEffect(() => {
		const away = (event: Event) =>
			!form.current?.parentElement?.contains(event.target as Node) && onClose();
		document.addEventListener('pointerdown', away);
		return () => document.removeEventListener('pointerdown', away);
	}, []);
	const bad = [from, until].map((text) => readTime(text, timed.now) === null);
	const submit = (event: Event) => {
		event.preventDefault();
		if (bad.some(Boolean)) return;
		onSet({ from: asWritten(from), until: asWritten(until) });
	};
	return (
		<form
			class="drop-box range-form"
			ref={form}
			onSubmit={submit}
			onKeyDown={(e) => e.key === 'Escape' && onClose()}
			aria-label="Range">
			<div class="presets">
				{PRESETS.map(([preset, title]) => (
					<button
						type="button"
						class="plain"
						key={preset}
						aria-pressed={timed.range.from === preset && timed.range.until === 'now'}
						onClick={() => onSet({ from: preset, until: 'now' })}>
						{title}
					</button>
				))}
			</div>
			<div class="range-texts">
				<label>
					From{' '}
					<input
						value={from}
						aria-invalid={bad[0]}
						onInput={(e) => setFrom(e.currentTarget.value)}
					/>
				</label>
				<label>
					Until{' '}
					<input
						value={until}
						aria-invalid={bad[1]}
						onInput={(e) => setUntil(e.currentTarget.value)}
					/>
				</label>
				<p class="quiet small">now-15m · 2026-11-30 14:05 · Unix seconds or ms</p>
				<button type="submit" class="primary" disabled={bad.some(Boolean)}>
					Show
				</button>
			</div>
		</form>
	);
}

/** A time that is no "now-1h" is written as milliseconds: it means the same in every time zone. */
function asWritten(text: string): string {
	const plain = text.trim();
	if (plain.startsWith('now')) return plain.replace(/\s/g, '');
	return String(readTime(plain, Date.now()));
}
