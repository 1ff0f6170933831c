/* What a reader has to fetch, packed as `gzip -9` does; and what a page must not do. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';

const DIST = join(import.meta.dirname, '../dist');
const files = readdirSync(DIST, { recursive: true, withFileTypes: true })
	.filter((f) => f.isFile())
	.map((f) => join(f.parentPath, f.name));
const packed = (ending: string) =>
	files
		.filter((f) => f.endsWith(ending))
		.reduce((sum, f) => sum + gzipSync(readFileSync(f), { level: 9 }).length, 0);

test('packed sizes', () => {
	expect(files.filter((f) => f.endsWith('.js'))).toHaveLength(1);
	expect(packed('.js')).toBeLessThanOrEqual(70 * 1024);
	expect(packed('.css')).toBeLessThanOrEqual(8 * 1024);
	expect(packed('')).toBeLessThanOrEqual(100 * 1024);
});

test('nothing is evaluated, nothing is fetched from elsewhere', () => {
	const text = files.map((f) => readFileSync(f, 'utf8')).join('\n');
	expect(text).not.toMatch(/\beval\(|new Function\(|document\.write/);
	const hosts = [...text.matchAll(/https?:\/\/([\w.-]+)/g)].map((m) => m[1]);
	expect([...new Set(hosts)].filter((host) => host !== 'www.w3.org')).toEqual([]);
});

test('no source writes markup', () => {
	const src = join(import.meta.dirname, '../src');
	for (const file of readdirSync(src, { recursive: true, withFileTypes: true }).filter((f) => f.isFile())) {
		expect(readFileSync(join(file.parentPath, file.name), 'utf8'), file.name).not.toMatch(
			/innerHTML|outerHTML|insertAdjacentHTML|setHTML/i,
		);
	}
});
