import { expect, test, vi } from 'vitest';
import { curlOf } from '../src/fg/export_menu';
import { csvText, foldedText, jsonGraph, svgText, xml } from '../src/fg/export_text';
import { groupsOf } from '../src/fg/groups';
import { layoutOf } from '../src/fg/layout';
import { rowsOf } from '../src/fg/table';
import { readFolded, readJson, readPprof } from '../src/api/profile_file';
import { WireWriter } from '../src/api/wire';
import { exact, format, formatChange, percent } from '../src/state/units';
import { shortened, visible } from '../src/ui/text';
import { told, treeOf } from './trees';

test('bytes have binary prefixes and three digits', () => {
	expect(['0 B', '1023 B', '1 KiB', '1.5 KiB', '4.19 GiB', '1 MiB', '93.1 GiB']).toEqual(
		[0, 1023, 1024, 1536, 4_500_000_000, 1048575, 100e9].map((n) => format(n, 'bytes')),
	);
	expect(format(-1536, 'bytes')).toBe('−1.5 KiB');
	expect(formatChange(1024, 'bytes')).toBe('+1 KiB');
	expect(exact(4_500_000_000, 'bytes')).toBe('4,500,000,000 bytes');
});

test('times and counts', () => {
	expect([1, 1500, 2e6, 3.5e9, 90e9, 7200e9].map((n) => format(n, 'nanoseconds'))).toEqual([
		'1 ns',
		'1.5 µs',
		'2 ms',
		'3.5 s',
		'1.5 min',
		'2 h',
	]);
	expect([0, 999, 1000, 1_250_000].map((n) => format(n, 'count'))).toEqual(['0', '999', '1 k', '1.25 M']);
	expect([percent(1, 3), percent(1, 0), percent(2, 2)]).toEqual(['33.3 %', '–', '100 %']);
});

test('what cannot be seen is escaped', () => {
	expect(visible('a\u202egpj.exe\n')).toBe('a\\u202egpj.exe\\u000a');
	expect(shortened('x'.repeat(10_000), 100)).toHaveLength(99);
	expect(shortened('<img src=x onerror=alert(1)>')).toBe('<img src=x onerror=alert(1)>');
});

const HOSTILE = treeOf({ 'a;<script>alert("1")</script>': 3, '=cmd()|"x",y;b': 4 });

test('folded stacks can be read back', () => {
	const tree = treeOf({ 'a;b': 5, a: 2 });
	expect(foldedText(tree)).toBe('a 2\na;b 5\n');
	expect(told(readFolded('x', foldedText(tree)).tree(0))).toEqual(told(tree));
	expect(() => readFolded('x', 'a;b\n')).toThrow('line 1');
});

test('JSON that was saved is the same graph', () => {
	const tree = treeOf({ 'a;b': [5, 2], c: [0, 1] });
	const back = readJson('x', JSON.stringify(jsonGraph(tree, 't', 'bytes'))).tree(0);
	expect(told(back)).toEqual(told(tree));
	expect([...back.before!.total]).toEqual([...tree.before!.total]);
	expect(() => readJson('x', '{"vramscope":1,"frames":[],"nodes":[[0,0,0],[5,0,1]]}')).toThrow('node 1');
});

test('a table in CSV keeps what a spreadsheet would compute as text', () => {
	expect(csvText(HOSTILE, rowsOf(HOSTILE)).split('\r\n')[3]).toBe('"\'=cmd()|""x"",y",,other,0,4');
});

test('a picture holds no markup of names', () => {
	const svg = svgText(
		layoutOf(HOSTILE, groupsOf(HOSTILE), () => true),
		() => '#fff',
		'T &\u0001 co',
		'count',
	);
	expect(svg).not.toContain('<script');
	expect(svg).toContain('&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;: 3 count, 42.9 %, self 3 count');
	expect(svg).toContain('T &amp;\\u0001 co');
	expect(xml('\ud800x')).toBe('\ufffdx');
});

test('a command for elsewhere says which tenant asks', () => {
	const kept: Record<string, string> = { 'vramscope.tenant': "a'b" };
	vi.stubGlobal('localStorage', { getItem: (name: string) => kept[name] ?? null });
	vi.stubGlobal('document', { baseURI: 'http://host:4040/ui/' });
	const source = { query: 'q', from: 1, until: 2, at: null, route: 'api/v1/diff', parameters: { from: 1 } };
	expect(curlOf(source)).toBe(
		"curl -sG -H 'X-Scope-OrgID: a'\\''b' 'http://host:4040/api/v1/diff' --data-urlencode 'from=1'",
	);
	vi.unstubAllGlobals();
});

// message Profile of pprof's proto, written field by field
function pprofBytes(): Uint8Array {
	const strings = [
		'',
		'inuse_space',
		'bytes',
		'main',
		'load',
		'm.py',
		'/usr/lib/libcuda.so.1',
		'cuMemAlloc_v2',
	];
	const bytes = (w: WireWriter) => String.fromCharCode(...w.finish());
	const p: number[] = [];
	const add = (field: number, text: string) => {
		p.push((field << 3) | 2, text.length, ...[...text].map((c) => c.charCodeAt(0)));
	};
	add(1, bytes(new WireWriter().int(1, 1).int(2, 2)));
	add(2, '\x0a\x03\x03\x02\x01\x12\x02\xac\x02'); // locations 3, 2, 1; value 300
	add(3, bytes(new WireWriter().int(1, 1).int(5, 6)));
	const line = (fn: number, n: number) =>
		`\x22\x04\x08${String.fromCharCode(fn)}\x10${String.fromCharCode(n)}`;
	add(4, `${bytes(new WireWriter().int(1, 1))}${line(1, 12)}`);
	add(4, `${bytes(new WireWriter().int(1, 2))}${line(2, 34)}`);
	add(4, `${bytes(new WireWriter().int(1, 3).int(2, 1))}${line(3, 0)}`);
	add(5, bytes(new WireWriter().int(1, 1).int(2, 3).int(4, 5)));
	add(5, bytes(new WireWriter().int(1, 2).int(2, 4).int(4, 5)));
	add(5, bytes(new WireWriter().int(1, 3).int(2, 7)));
	for (const s of strings) add(6, s);
	return Uint8Array.from(p);
}

test('pprof is read in the browser', () => {
	const file = readPprof('x', pprofBytes());
	expect(file.types).toEqual([{ type: 'inuse_space', unit: 'bytes' }]);
	const tree = file.tree(0);
	expect(told(tree)).toEqual({
		main: [300, 0],
		'main;load': [300, 0],
		'main;load;cuMemAlloc_v2': [300, 300],
	});
	const place = (name: string) => {
		const i = tree.frames.names.indexOf(name);
		return [tree.frames.kinds[i], tree.frames.files[i], tree.frames.lines[i]];
	};
	expect(place('load')).toEqual(['python', 'm.py', 34]);
	expect(place('cuMemAlloc_v2')).toEqual(['cuda', '/usr/lib/libcuda.so.1', 0]);
});

test('a cut pprof is refused, not half read', () => {
	expect(() => readPprof('x', pprofBytes().slice(0, 30))).toThrow();
});
