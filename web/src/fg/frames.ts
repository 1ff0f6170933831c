/*
 * What is known of the functions of a graph: one entry a name index, shared by all trees that
 * are made of it. A file of '' and a line of 0 are unknown.
 */

/** Kinds of code, in the order of the legend; the server says the same words. */
export const KINDS = [
	'python',
	'native',
	'cuda',
	'kernel',
	'interpreter',
	'other',
	'folded',
	'root',
] as const;
export type Kind = (typeof KINDS)[number];

export const KIND_TITLES: Record<Kind, string> = {
	python: 'Python',
	native: 'native',
	cuda: 'CUDA',
	kernel: 'kernel',
	interpreter: 'interpreter',
	other: 'not known',
	folded: 'too small to show',
	root: 'all',
};

export interface Frames {
	readonly names: readonly string[];
	readonly kinds: readonly Kind[];
	readonly files: readonly string[];
	readonly lines: readonly number[];
}

/** The frames of a source that knows names only: kinds are guessed from them. */
export function framesOfNames(names: readonly string[]): Frames {
	return {
		names,
		kinds: names.map((name, i) => (i === 0 ? 'root' : kindOfName(name))),
		files: names.map(() => ''),
		lines: names.map(() => 0),
	};
}

const INTERPRETER =
	/^(<interpreter trampoline>|_?Py[A-Z_]\w*|_start$|__libc_start\w*|pymain_\w+|run_mod$|type_call$|slot_tp_\w+$|method_vectorcall\w*$|cfunction_\w+$|_ctypes_\w+$|ffi_call)/;
const DRIVER = /^(cu[A-Z]\w+|cuda[A-Z]\w+|libcuda\b)/;
const PYTHON = /(\.py\b|^<\w+>$)/;
const NATIVE = /::|^_Z|^0x[0-9a-f]+$|\.so[\d.]*\+0x/;

export function kindOfName(name: string): Kind {
	if (INTERPRETER.test(name)) return 'interpreter';
	if (DRIVER.test(name)) return 'cuda';
	if (PYTHON.test(name)) return 'python';
	if (NATIVE.test(name)) return 'native';
	return 'other';
}

/** "file:line", the file alone, or ''. */
export function placeOf(frames: Frames, name: number): string {
	const file = frames.files[name] ?? '';
	const line = frames.lines[name] ?? 0;
	return file && line > 0 ? `${file}:${line}` : file;
}
