/*
 * What is remembered in this browser and is in no link: the theme, widths, the tenant, the last
 * baseline. A browser that keeps nothing (private windows) forgets, and nothing else happens.
 */
import { useState } from 'preact/hooks';

const PREFIX = 'vramscope.';

export function recall(key: string): string {
	try {
		return localStorage.getItem(PREFIX + key) ?? '';
	} catch {
		return '';
	}
}

export function keep(key: string, value: string): void {
	try {
		if (value === '') localStorage.removeItem(PREFIX + key);
		else localStorage.setItem(PREFIX + key, value);
	} catch {
		// nothing is kept here
	}
}

export function useKept(key: string, otherwise: string): [string, (value: string) => void] {
	const [value, setValue] = useState(() => recall(key) || otherwise);
	return [
		value,
		(next) => {
			keep(key, next);
			setValue(next);
		},
	];
}
