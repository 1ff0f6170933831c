/* Dark, light, or as the system says. */
import { keep, recall } from './kept';

export const THEMES = ['system', 'dark', 'light'] as const;
export type Theme = (typeof THEMES)[number];

export function readTheme(): Theme {
	const kept = recall('theme');
	return THEMES.find((theme) => theme === kept) ?? 'system';
}

function shown(theme: Theme): 'dark' | 'light' {
	if (theme !== 'system') return theme;
	return matchMedia('(prefers-color-scheme: light)').matches ? 'light' : 'dark';
}

/** What is drawn on canvases listens for "themed". */
export const themed = new EventTarget();

export function applyTheme(theme: Theme): void {
	keep('theme', theme === 'system' ? '' : theme);
	document.documentElement.dataset.theme = shown(theme);
	themed.dispatchEvent(new Event('themed'));
}

export function followSystem(): void {
	matchMedia('(prefers-color-scheme: light)').addEventListener('change', () => applyTheme(readTheme()));
}
