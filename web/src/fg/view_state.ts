/* What of a link belongs to a flame graph, and its defaults. */
import type { Changes, Params } from '../state/location';
import { PALETTES, type Palette, SCHEMES, type Scheme } from './color';

export const VIEWS = ['both', 'table', 'graph'] as const;
export type View = (typeof VIEWS)[number];

/** Which frames are shown: all; without the interpreter's own; only Python's. */
export const FRAME_SETS = ['all', 'code', 'python'] as const;
export type FrameSet = (typeof FRAME_SETS)[number];

export interface ViewState {
	readonly view: View;
	readonly search: string;
	readonly focus: string;
	readonly sandwich: string;
	readonly direction: 'icicle' | 'flame';
	readonly scheme: Scheme;
	readonly groups: 'auto' | 'open' | 'closed';
	readonly frames: FrameSet;
	readonly hidden: readonly string[];
	readonly palette: Palette;
	readonly weighing: 'max' | 'now';
}

export interface Defaults {
	readonly frames: FrameSet;
	readonly scheme: Scheme;
}

export function readViewState(params: Params, defaults: Defaults): ViewState {
	const one = <T extends string>(name: string, words: readonly T[], otherwise: T) =>
		words.find((word) => word === params[name]) ?? otherwise;
	return {
		view: one('view', VIEWS, 'both'),
		search: params.search ?? '',
		focus: params.focus ?? '',
		sandwich: params.sandwich ?? '',
		direction: one('dir', ['icicle', 'flame'] as const, 'icicle'),
		scheme: one('color', SCHEMES, defaults.scheme),
		groups: one('groups', ['auto', 'open', 'closed'] as const, 'auto'),
		frames: one('frames', FRAME_SETS, defaults.frames),
		hidden: (params.hide ?? '').split('\n').filter((name) => name !== ''),
		palette: one('palette', PALETTES, 'classic'),
		weighing: one('width', ['max', 'now'] as const, 'max'),
	};
}

const NAMES: Record<keyof ViewState, string> = {
	view: 'view',
	search: 'search',
	focus: 'focus',
	sandwich: 'sandwich',
	direction: 'dir',
	scheme: 'color',
	groups: 'groups',
	frames: 'frames',
	hidden: 'hide',
	palette: 'palette',
	weighing: 'width',
};

/** Only what differs from the defaults is written. */
export function writeViewState(state: Partial<ViewState>, defaults: Defaults): Changes {
	const plain = readViewState({}, defaults);
	const changes: Record<string, string | null> = {};
	for (const key of Object.keys(state) as (keyof ViewState)[]) {
		const value = state[key];
		const text = Array.isArray(value) ? value.join('\n') : String(value);
		changes[NAMES[key]] = value === plain[key] ? null : text;
	}
	return changes;
}
