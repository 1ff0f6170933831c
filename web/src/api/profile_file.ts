/*
 * Files that a reader drops on the upload page, read in the browser: nothing leaves it unless it is
 * stored. pprof (gzip or not), folded stacks, and the JSON that these pages export.
 */
import { type Frames, framesOfNames, kindOfName, type Kind, KINDS } from '../fg/frames';
import type { JsonGraph } from '../fg/export_text';
import { type Tree, TreeBuilder } from '../fg/tree';
import { readFields, readInts } from './wire';

export interface ProfileFile {
	readonly name: string;
	readonly format: 'pprof' | 'folded' | 'json';
	readonly types: readonly { readonly type: string; readonly unit: string }[];
	readonly tree: (type: number) => Tree;
}

const LARGEST_BYTES = 64 * 1024 * 1024;
const LARGEST_UNPACKED = 512 * 1024 * 1024;

export async function readProfileFile(file: File): Promise<ProfileFile> {
	if (file.size === 0) throw new Error('the file is empty');
	if (file.size > LARGEST_BYTES)
		throw new Error(`the file has more than ${LARGEST_BYTES / 1024 / 1024} MiB`);
	const bytes = await unpacked(new Uint8Array(await file.arrayBuffer()));
	const text = asText(bytes);
	if (text?.trimStart().startsWith('{')) return readJson(file.name, text);
	if (text !== null) return readFolded(file.name, text);
	return readPprof(file.name, bytes);
}

async function unpacked(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
	if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
	const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip')).getReader();
	const parts: Uint8Array<ArrayBuffer>[] = [];
	let size = 0;
	for (;;) {
		const { done, value } = await reader.read();
		if (done) return new Uint8Array(await new Blob(parts).arrayBuffer());
		size += value.length;
		if (size > LARGEST_UNPACKED) throw new Error('unpacked it has more than 512 MiB');
		parts.push(value as Uint8Array<ArrayBuffer>);
	}
}

/** null: these bytes are no text. */
function asText(bytes: Uint8Array): string | null {
	try {
		const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
		return text.includes('\0') || /[\u0001-\u0008\u000e-\u001f]/.test(text.slice(0, 4096)) ? null : text;
	} catch {
		return null;
	}
}

/** "a;b;c 42" a line. */
export function readFolded(name: string, text: string): ProfileFile {
	const ids = new Map([['total', 0]]);
	const stacks: { path: number[]; value: number }[] = [];
	text.split('\n').forEach((line, i) => {
		if (line.trim() === '') return;
		const found = /^(.*\S)\s+(\d+(?:\.\d+)?)\s*$/.exec(line);
		if (!found)
			throw new Error(`line ${i + 1} is no stack with a number behind it: “${line.slice(0, 60)}”`);
		const path = found[1]!.split(';').map((frame) => {
			const known = ids.get(frame);
			if (known !== undefined) return known;
			ids.set(frame, ids.size);
			return ids.size - 1;
		});
		stacks.push({ path, value: Number(found[2]) });
	});
	if (stacks.length === 0) throw new Error('there is no stack in it');
	const frames = framesOfNames([...ids.keys()]);
	const tree = treeOf(
		frames,
		stacks.map((s) => [s.path, s.value]),
	);
	return { name, format: 'folded', types: [{ type: 'samples', unit: 'count' }], tree: () => tree };
}

function treeOf(frames: Frames, stacks: readonly (readonly [readonly number[], number])[]): Tree {
	const builder = new TreeBuilder(frames, 0);
	for (const [path, value] of stacks) {
		let node = 0;
		for (const frame of path) node = builder.child(node, frame);
		builder.value(node, value);
	}
	return builder.build();
}

export function readJson(name: string, text: string): ProfileFile {
	const read = JSON.parse(text) as Partial<JsonGraph>;
	if (read.vramscope !== 1 || !Array.isArray(read.frames) || !Array.isArray(read.nodes))
		throw new Error('it is JSON, but no graph of these pages');
	const frames: Frames = {
		names: read.frames.map((f) => String(f.name)),
		kinds: read.frames.map((f) => KINDS.find((k) => k === f.kind) ?? 'other'),
		files: read.frames.map((f) => String(f.file ?? '')),
		lines: read.frames.map((f) => Number(f.line ?? 0)),
	};
	const diff = (read.nodes[0]?.length ?? 0) > 3;
	const builder = new TreeBuilder(frames, 0);
	const becomes: number[] = [0];
	read.nodes.forEach(([parent, frame, self, before], i) => {
		if (i > 0) {
			const above = becomes[parent ?? -1];
			if (above === undefined || !(frame! >= 0 && frame! < frames.names.length))
				throw new Error(`node ${i} has no parent before it, or no frame`);
			becomes[i] = builder.child(above, frame!);
		}
		builder.value(becomes[i]!, Number(self), Number(before ?? 0));
	});
	const tree = builder.build(diff ? 'diff' : 'single');
	return {
		name,
		format: 'json',
		types: [{ type: String(read.title ?? 'graph'), unit: String(read.unit ?? '') }],
		tree: () => tree,
	};
}

interface Location {
	readonly frames: readonly number[]; // the outermost of what is inlined first
}

export function readPprof(name: string, bytes: Uint8Array): ProfileFile {
	const strings: string[] = [];
	const types: { type: bigint; unit: bigint }[] = [];
	const samples: { locations: bigint[]; values: number[] }[] = [];
	const rawLocations: {
		id: bigint;
		mapping: bigint;
		address: bigint;
		lines: { fn: bigint; line: number }[];
	}[] = [];
	const functions = new Map<bigint, { name: bigint; file: bigint }>();
	const mappings = new Map<bigint, bigint>();
	const text = new TextDecoder();
	for (const field of readFields(bytes)) {
		if (field.bytes === null) continue;
		if (field.number === 6) strings.push(text.decode(field.bytes));
		else if (field.number === 1) types.push(pair(field.bytes));
		else if (field.number === 2) samples.push(readSample(field.bytes));
		else if (field.number === 3) {
			const m = numbers(field.bytes);
			mappings.set(m[1] ?? 0n, m[5] ?? 0n);
		} else if (field.number === 4) rawLocations.push(readLocation(field.bytes));
		else if (field.number === 5) {
			const f = numbers(field.bytes);
			functions.set(f[1] ?? 0n, { name: f[2] ?? 0n, file: f[4] ?? 0n });
		}
	}
	if (types.length === 0 || strings.length === 0) throw new Error('it is neither pprof nor text');
	const string = (index: bigint) => strings[Number(index)] ?? '';
	const table = new FrameTable();
	const locations = new Map<bigint, Location>(
		rawLocations.map((l) => {
			const mapping = string(mappings.get(l.mapping) ?? 0n);
			const inlined = l.lines.map(({ fn, line }) =>
				table.frame(
					string(functions.get(fn)?.name ?? 0n),
					string(functions.get(fn)?.file ?? 0n),
					line,
					mapping,
				),
			);
			return [
				l.id,
				{
					frames:
						inlined.length > 0
							? inlined.reverse()
							: [table.frame(`0x${l.address.toString(16)}`, '', 0, mapping)],
				},
			];
		}),
	);
	const frames = table.frames();
	const paths = samples.map((s) =>
		[...s.locations].reverse().flatMap((id) => locations.get(id)?.frames ?? []),
	);
	return {
		name,
		format: 'pprof',
		types: types.map((t) => ({ type: string(t.type), unit: string(t.unit) })),
		tree: (type) =>
			treeOf(
				frames,
				paths.map((path, i) => [path, samples[i]!.values[type] ?? 0]),
			),
	};
}

class FrameTable {
	private readonly ids = new Map<string, number>();
	private readonly all = { names: ['total'], kinds: ['root'] as Kind[], files: [''], lines: [0] };

	frame(name: string, file: string, line: number, mapping: string): number {
		const key = `${name}\0${file}`;
		const known = this.ids.get(key);
		if (known !== undefined) return known;
		const id = this.all.names.push(name) - 1;
		this.all.kinds.push(kindOf(name, file, mapping));
		this.all.files.push(file || mapping);
		this.all.lines.push(line);
		this.ids.set(key, id);
		return id;
	}

	frames(): Frames {
		return this.all;
	}
}

/** The server's rules, docs/api/flamegraph.md, in their order. */
function kindOf(name: string, file: string, mapping: string): Kind {
	const base = mapping.slice(mapping.lastIndexOf('/') + 1);
	if (/^\[kernel|^vmlinux|\.ko$/.test(base)) return 'kernel';
	if (/\.py$|^<(frozen|string)/.test(file)) return 'python';
	if (/^libcuda\.so|^libcudart/.test(base)) return 'cuda';
	if (/^python3|^libpython/.test(base) || name.startsWith('_PyEval_')) return 'interpreter';
	return base || /\.(c|cc|cpp|cxx|h|hpp|rs|go|cu)$/.test(file) ? 'native' : kindOfName(name);
}

const numbers = (bytes: Uint8Array): Record<number, bigint> =>
	Object.fromEntries([...readFields(bytes)].filter((f) => f.bytes === null).map((f) => [f.number, f.int]));

function pair(bytes: Uint8Array): { type: bigint; unit: bigint } {
	const n = numbers(bytes);
	return { type: n[1] ?? 0n, unit: n[2] ?? 0n };
}

function readSample(bytes: Uint8Array): { locations: bigint[]; values: number[] } {
	const locations: bigint[] = [];
	const values: number[] = [];
	for (const field of readFields(bytes)) {
		if (field.number === 1) locations.push(...readInts(field));
		else if (field.number === 2)
			for (const value of readInts(field)) values.push(Number(BigInt.asIntN(64, value)));
	}
	return { locations, values };
}

function readLocation(bytes: Uint8Array) {
	const n = numbers(bytes);
	const lines = [...readFields(bytes)]
		.filter((f) => f.number === 4 && f.bytes !== null)
		.map((f) => {
			const line = numbers(f.bytes!);
			return { fn: line[1] ?? 0n, line: Number(line[2] ?? 0n) };
		});
	return { id: n[1] ?? 0n, mapping: n[2] ?? 0n, address: n[3] ?? 0n, lines };
}
