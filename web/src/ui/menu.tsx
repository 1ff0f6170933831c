/* A menu at a place, or below a button. Esc, a click elsewhere and Tab close it; focus goes back. */
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { ComponentChildren } from 'preact';

export interface Entry {
	readonly title: string;
	readonly hint?: string;
	readonly checked?: boolean;
	readonly off?: string; // why it cannot be chosen
	readonly act: () => void;
}

export interface MenuProps {
	readonly label: string;
	readonly entries: readonly (Entry | null)[]; // null is a line
	readonly x: number;
	readonly y: number;
	readonly onClose: () => void;
}

export function Menu({ label, entries, x, y, onClose }: MenuProps) {
	const list = useRef<HTMLUListElement>(null);
	const [place, setPlace] = useState({ x, y });
	useLayoutEffect(() => {
		const box = list.current!.getBoundingClientRect();
		setPlace({
			x: Math.max(4, Math.min(x, innerWidth - box.width - 8)),
			y: Math.max(4, Math.min(y, innerHeight - box.height - 8)),
		});
	}, [x, y]);
	useEffect(() => {
		const before = document.activeElement as HTMLElement | null;
		items(list.current)[0]?.focus();
		const away = (event: Event) => !list.current?.contains(event.target as Node) && onClose();
		document.addEventListener('pointerdown', away);
		return () => {
			document.removeEventListener('pointerdown', away);
			before?.focus?.({ preventScroll: true });
		};
	}, []);
	const onKey = (event: KeyboardEvent) => {
		const all = items(list.current);
		const at = all.indexOf(document.activeElement as HTMLElement);
		const moves: Record<string, number> = {
			ArrowDown: at + 1,
			ArrowUp: at - 1,
			Home: 0,
			End: all.length - 1,
		};
		const to = moves[event.key];
		event.stopPropagation();
		if (to !== undefined) {
			event.preventDefault();
			all[(to + all.length) % all.length]?.focus();
		} else if (event.key === 'Escape' || event.key === 'Tab') {
			event.preventDefault();
			onClose();
		}
	};
	return (
		<ul
			class="menu"
			role="menu"
			aria-label={label}
			ref={list}
			style={{ left: `${place.x}px`, top: `${place.y}px` }}
			onKeyDown={onKey}>
			{entries.map((entry, i) =>
				entry === null ? (
					<li role="separator" key={i} />
				) : (
					<li role="none" key={i}>
						<button
							type="button"
							role={entry.checked === undefined ? 'menuitem' : 'menuitemradio'}
							aria-checked={entry.checked}
							aria-disabled={entry.off ? 'true' : undefined}
							title={entry.off ?? ''}
							tabIndex={-1}
							onClick={() => {
								if (entry.off) return;
								onClose();
								entry.act();
							}}>
							<span>{entry.title}</span>
							{entry.hint && <kbd>{entry.hint}</kbd>}
						</button>
					</li>
				),
			)}
		</ul>
	);
}

const items = (list: HTMLUListElement | null) => [...(list?.querySelectorAll<HTMLElement>('button') ?? [])];

/** A button that opens a menu below itself. */
export function MenuButton(p: {
	label: string;
	title?: string;
	entries: readonly (Entry | null)[];
	children: ComponentChildren;
}) {
	const [at, setAt] = useState<{ x: number; y: number } | null>(null);
	const button = useRef<HTMLButtonElement>(null);
	return (
		<>
			<button
				type="button"
				ref={button}
				aria-haspopup="menu"
				aria-expanded={at !== null}
				title={p.title ?? p.label}
				onClick={() => {
					const box = button.current!.getBoundingClientRect();
					setAt(at ? null : { x: box.left, y: box.bottom + 4 });
				}}>
				{p.children}
			</button>
			{at && <Menu label={p.label} entries={p.entries} x={at.x} y={at.y} onClose={() => setAt(null)} />}
		</>
	);
}
