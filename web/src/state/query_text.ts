/*
 * A query is a profile type with a selector behind it, TYPE{name="value",...}; either may lack.
 * Reading gives matchers or the place and reason of the first error; writing gives the text back.
 */

export type Operator = '=' | '!=' | '=~' | '!~';
export const OPERATORS: readonly Operator[] = ['=', '!=', '=~', '!~'];

export interface Matcher {
	readonly name: string;
	readonly operator: Operator;
	readonly value: string;
}

export interface Query {
	readonly type: string; // '' when the text has none
	readonly matchers: readonly Matcher[];
}

export interface QueryError {
	readonly at: number;
	readonly message: string;
}

export type Reading =
	{ readonly query: Query; readonly error: null } | { readonly query: null; readonly error: QueryError };

const NAME = /[\p{L}_][\p{L}\p{N}_.\-/]*/uy;
const OPERATOR = /=~|!~|!=|=/y;
const ESCAPES: Record<string, string> = { n: '\n', t: '\t', r: '\r', '"': '"', '\\': '\\' };

export function readQuery(text: string): Reading {
	const open = text.indexOf('{');
	if (open < 0) {
		const type = text.trim();
		return { query: { type, matchers: [] }, error: null };
	}
	const reader = new Reader(text, open + 1);
	try {
		const matchers = reader.matchers();
		return { query: { type: text.slice(0, open).trim(), matchers }, error: null };
	} catch (error) {
		if (error instanceof Mistake) return { query: null, error: { at: error.at, message: error.message } };
		throw error;
	}
}

class Mistake extends Error {
	constructor(
		readonly at: number,
		message: string,
	) {
		super(message);
	}
}

class Reader {
	constructor(
		private readonly text: string,
		private at: number,
	) {}

	matchers(): Matcher[] {
		const found: Matcher[] = [];
		for (;;) {
			this.space();
			if (this.take('}')) break;
			found.push(this.matcher());
			this.space();
			if (this.take(',')) continue;
			if (this.take('}')) break;
			throw new Mistake(this.at, 'a "," or "}" belongs here');
		}
		this.space();
		if (this.at < this.text.length) throw new Mistake(this.at, 'nothing may follow "}"');
		return found;
	}

	private matcher(): Matcher {
		const name = this.match(NAME);
		if (!name) throw new Mistake(this.at, "a label's name belongs here");
		this.space();
		const operator = this.match(OPERATOR);
		if (!operator) throw new Mistake(this.at, 'one of = != =~ !~ belongs here');
		this.space();
		const from = this.at;
		const value = this.quoted();
		if (operator.endsWith('~') && !isPattern(value)) {
			throw new Mistake(from, 'this is no regular expression');
		}
		return { name, operator: operator as Operator, value };
	}

	private quoted(): string {
		const start = this.at;
		if (!this.take('"')) throw new Mistake(start, 'a value in double quotes belongs here');
		let value = '';
		while (this.at < this.text.length) {
			const c = this.text[this.at++]!;
			if (c === '"') return value;
			if (c !== '\\') {
				value += c;
				continue;
			}
			const escaped = ESCAPES[this.text[this.at++] ?? ''];
			if (escaped === undefined)
				throw new Mistake(this.at - 2, 'this escape is not known: write \\\\ for a backslash');
			value += escaped;
		}
		throw new Mistake(start, 'this value has no closing quote');
	}

	private take(c: string): boolean {
		if (this.text[this.at] !== c) return false;
		this.at++;
		return true;
	}

	private match(pattern: RegExp): string {
		pattern.lastIndex = this.at;
		const found = pattern.exec(this.text)?.[0] ?? '';
		this.at += found.length;
		return found;
	}

	private space(): void {
		while (/\s/.test(this.text[this.at] ?? '')) this.at++;
	}
}

/** The server's expressions are RE2's: what only the browser refuses is left to it. */
function isPattern(value: string): boolean {
	try {
		new RegExp(value, 'u');
		return true;
	} catch {
		return /\(\?[imsU]/.test(value) || /\\[pPzAQE]|\[\[:/.test(value) || !balanced(value);
	}
}

function balanced(value: string): boolean {
	let depth = 0;
	for (const c of value.replace(/\\./g, '')) depth += c === '(' ? 1 : c === ')' ? -1 : 0;
	return depth === 0;
}

export function quote(value: string): string {
	return `"${value.replace(/[\\"]/g, '\\$&').replace(/\n/g, '\\n').replace(/\t/g, '\\t').replace(/\r/g, '\\r')}"`;
}

export function writeSelector(matchers: readonly Matcher[]): string {
	return `{${matchers.map((m) => `${m.name}${m.operator}${quote(m.value)}`).join(', ')}}`;
}

export function writeQuery(query: Query): string {
	return query.type + writeSelector(query.matchers);
}

/** The one value that `name="value"` asks for, or ''. */
export function valueOf(query: Query, name: string): string {
	return query.matchers.find((m) => m.name === name && m.operator === '=')?.value ?? '';
}

/** Matchers of `name` replaced by one; without a value they are gone. */
export function withValue(query: Query, name: string, value: string, operator: Operator = '='): Query {
	const at = query.matchers.findIndex(
		(m) => m.name === name && (operator === '=' || m.operator === operator),
	);
	const others = query.matchers.filter(
		(m, i) => m.name !== name || (operator !== '=' && i !== at && m.value !== value),
	);
	const matcher = { name, operator, value };
	if (value === '' && operator === '=') return { ...query, matchers: others };
	const matchers = [...others];
	matchers.splice(at < 0 ? matchers.length : Math.min(at, matchers.length), 0, matcher);
	return { ...query, matchers };
}
