/*
 * What a search finds: "text" without regard to case, "/pattern/" as a regular expression, several
 * terms by comma. What lies inside another hit is counted once.
 */
import type { Tree } from './tree';

export interface Hits {
	readonly names: Uint8Array; // 1 for each name that matches
	readonly value: number; // held by all that matches
	readonly before: number;
	readonly nodes: readonly number[]; // in pre-order
}

type Test = (name: string) => boolean;

/** null: nothing is looked for. A pattern that is none is taken as text. */
export function termsOf(text: string): Test | null {
	const tests = splitTerms(text).map(testOf);
	return tests.length === 0 ? null : (name) => tests.some((test) => test(name));
}

/** A comma inside of "/.../" parts nothing. */
function splitTerms(text: string): string[] {
	const terms: string[] = [];
	let rest = text.trim();
	while (rest !== '') {
		const pattern = /^\/((?:[^/\\]|\\.)+)\/\s*(?:,|$)/.exec(rest);
		const term = pattern ? pattern[0].replace(/,$/, '') : (rest.split(',', 1)[0] ?? '');
		rest = rest.slice(pattern ? pattern[0].length : term.length + 1).trim();
		if (term.trim() !== '') terms.push(term.trim());
	}
	return terms;
}

function testOf(term: string): Test {
	if (term.length > 2 && term.startsWith('/') && term.endsWith('/')) {
		try {
			const pattern = new RegExp(term.slice(1, -1), 'i');
			return (name) => pattern.test(name);
		} catch {
			// not a pattern yet: it is still being typed
		}
	}
	const wanted = term.toLowerCase();
	return (name) => name.toLowerCase().includes(wanted);
}

export function search(tree: Tree, text: string): Hits | null {
	const test = termsOf(text);
	if (!test) return null;
	const names = Uint8Array.from(tree.frames.names, (name) => (test(name) ? 1 : 0));
	const nodes: number[] = [];
	let value = 0;
	let before = 0;
	let inside = 0;
	for (let i = 0; i < tree.size; i++) {
		if (i === 0 || !names[tree.name[i]!]) continue;
		nodes.push(i);
		if (i < inside) continue;
		inside = tree.end[i]!;
		value += tree.total[i]!;
		before += tree.before?.total[i] ?? 0;
	}
	return { names, value, before, nodes };
}
