/* Protobuf's wire format: what one request needs to be written, and what reading pprof needs. */

const TEXT = new TextEncoder();

export class WireWriter {
	private readonly bytes: number[] = [];

	text(field: number, value: string): this {
		return this.message(field, TEXT.encode(value));
	}

	message(field: number, value: Uint8Array): this {
		this.varint(BigInt((field << 3) | 2));
		this.varint(BigInt(value.length));
		for (const byte of value) this.bytes.push(byte);
		return this;
	}

	int(field: number, value: number): this {
		this.varint(BigInt(field << 3));
		this.varint(BigInt.asUintN(64, BigInt(Math.trunc(value))));
		return this;
	}

	finish(): Uint8Array<ArrayBuffer> {
		return new Uint8Array(this.bytes);
	}

	private varint(value: bigint): void {
		let rest = value;
		while (rest >= 0x80n) {
			this.bytes.push(Number(rest & 0x7fn) | 0x80);
			rest >>= 7n;
		}
		this.bytes.push(Number(rest));
	}
}

export interface Field {
	readonly number: number;
	readonly int: bigint; // of varints and fixed numbers
	readonly bytes: Uint8Array | null; // of what has a length
}

export class WireError extends Error {}

/** The fields of one message, in order. Groups, which pprof does not have, are refused. */
export function* readFields(bytes: Uint8Array): Generator<Field> {
	const reader = new VarintReader(bytes);
	while (reader.at < bytes.length) {
		const key = Number(reader.next());
		const number = key >>> 3;
		const type = key & 7;
		if (number === 0) throw new WireError('a field has the number 0');
		if (type === 0) yield { number, int: reader.next(), bytes: null };
		else if (type === 2) yield { number, int: 0n, bytes: reader.take(Number(reader.next())) };
		else if (type === 1) yield { number, int: littleEndian(reader.take(8)), bytes: null };
		else if (type === 5) yield { number, int: littleEndian(reader.take(4)), bytes: null };
		else throw new WireError(`a field has the unknown wire type ${type}`);
	}
}

/** A repeated number: packed, or one by one. */
export function* readInts(field: Field): Generator<bigint> {
	if (field.bytes === null) {
		yield field.int;
		return;
	}
	const reader = new VarintReader(field.bytes);
	while (reader.at < field.bytes.length) yield reader.next();
}

class VarintReader {
	at = 0;
	constructor(private readonly bytes: Uint8Array) {}

	next(): bigint {
		let low = 0;
		let value = 0n;
		for (let shift = 0; shift < 70; shift += 7) {
			const byte = this.bytes[this.at++];
			if (byte === undefined) throw new WireError('it ends inside of a number');
			if (shift < 28) low |= (byte & 0x7f) << shift;
			else value |= BigInt(byte & 0x7f) << BigInt(shift);
			if (byte < 0x80) return value | BigInt(low);
		}
		throw new WireError('a number is longer than ten bytes');
	}

	take(length: number): Uint8Array {
		const end = this.at + length;
		if (!(end <= this.bytes.length))
			throw new WireError(`${length} bytes are announced, ${this.bytes.length - this.at} are there`);
		const part = this.bytes.subarray(this.at, end);
		this.at = end;
		return part;
	}
}

function littleEndian(bytes: Uint8Array): bigint {
	return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}
