/* pprof made by hand: stacks with a value for each sample type. */
import { WireWriter } from '../src/api/wire';

export interface Frame {
	readonly name: string;
	readonly file?: string;
	readonly line?: number;
	readonly mapping?: string;
}

export interface Sample {
	readonly stack: readonly Frame[]; // the outermost first
	readonly values: readonly number[];
}

export interface Profile {
	readonly types: readonly string[]; // "inuse_space/bytes"
	readonly period: string;
	readonly timeMs: number;
	readonly durationMs?: number;
	readonly samples: readonly Sample[];
}

class Table {
	private readonly ids = new Map<string, number>();
	readonly rows: string[] = [];
	constructor(first: readonly string[] = []) {
		first.forEach((row) => this.id(row));
	}

	id(row: string): number {
		const known = this.ids.get(row);
		if (known !== undefined) return known;
		this.ids.set(row, this.rows.length);
		return this.rows.push(row) - 1;
	}
}

export function pprof(profile: Profile): Uint8Array {
	const strings = new Table(['']);
	const mappings = new Table();
	const functions = new Table();
	const locations = new Table();
	const out = new WireWriter();
	const pair = (text: string) => {
		const [type = '', unit = ''] = text.split('/');
		return new WireWriter().int(1, strings.id(type)).int(2, strings.id(unit)).finish();
	};
	for (const type of profile.types) out.message(1, pair(type));
	for (const sample of profile.samples) {
		const ids = [...sample.stack].reverse().map((frame) => locations.id(JSON.stringify(frame)) + 1);
		const message = new WireWriter();
		for (const id of ids) message.int(1, id);
		for (const value of sample.values) message.int(2, value);
		out.message(2, message.finish());
	}
	locations.rows.forEach((text, i) => {
		const frame = JSON.parse(text) as Frame;
		const fn = functions.id(JSON.stringify([frame.name, frame.file ?? ''])) + 1;
		const line = new WireWriter()
			.int(1, fn)
			.int(2, frame.line ?? 0)
			.finish();
		out.message(
			4,
			new WireWriter()
				.int(1, i + 1)
				.int(2, frame.mapping ? mappings.id(frame.mapping) + 1 : 0)
				.message(4, line)
				.finish(),
		);
	});
	mappings.rows.forEach((file, i) =>
		out.message(
			3,
			new WireWriter()
				.int(1, i + 1)
				.int(5, strings.id(file))
				.finish(),
		),
	);
	functions.rows.forEach((text, i) => {
		const [name, file] = JSON.parse(text) as [string, string];
		out.message(
			5,
			new WireWriter()
				.int(1, i + 1)
				.int(2, strings.id(name))
				.int(4, strings.id(file))
				.finish(),
		);
	});
	out.int(9, profile.timeMs * 1e6)
		.int(10, (profile.durationMs ?? 15_000) * 1e6)
		.message(11, pair(profile.period))
		.int(12, 1);
	strings.rows.forEach((text) => out.text(6, text));
	return out.finish();
}
