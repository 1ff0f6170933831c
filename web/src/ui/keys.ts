/* Shortcuts of a page. They are off while somebody types, or a menu or dialog is open. */
import { useEffect, useRef } from 'preact/hooks';

export type Keys = Readonly<Record<string, () => void>>;

export function useKeys(keys: Keys): void {
	const latest = useRef(keys);
	latest.current = keys;
	useEffect(() => {
		const press = (event: KeyboardEvent) => {
			if (
				event.defaultPrevented ||
				event.ctrlKey ||
				event.metaKey ||
				event.altKey ||
				isTyping(event.target)
			)
				return;
			const act = latest.current[event.key];
			if (!act) return;
			event.preventDefault();
			act();
		};
		document.addEventListener('keydown', press);
		return () => document.removeEventListener('keydown', press);
	}, []);
}

function isTyping(target: EventTarget | null): boolean {
	return (
		target instanceof Element &&
		target.closest('input, textarea, select, [role="menu"], [role="listbox"], dialog') !== null
	);
}
