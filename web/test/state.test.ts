import { expect, test } from 'vitest';
import { changed, readParams, readPlace, writeParams } from '../src/state/location';
import { readQuery, valueOf, withValue, writeQuery } from '../src/state/query_text';
import { moved, zoomedOut } from '../src/state/range';
import { noteDate, serverNow } from '../src/state/server_clock';
import { readDuration, readTime, spanOf } from '../src/state/time';
import { readViewState, writeViewState } from '../src/fg/view_state';
import { completed, matching, slotAt } from '../src/ui/completion';
import { bandsOf, mostOf, nearest, timeTicks, valueTicks } from '../src/ui/chart';
import { areaOf, withinLens } from '../src/ui/overview';
import { filled } from '../src/pages/profile';
import { rowOf } from '../src/pages/labels';

const NOW = Date.UTC(2026, 10, 30, 12);

test('times as people write them', () => {
	expect(readTime('now', NOW)).toBe(NOW);
	expect(readTime('now-1h30m', NOW)).toBe(NOW - 5400e3);
	expect(readTime('1767225600', NOW)).toBe(1767225600e3);
	expect(readTime('1767225600123', NOW)).toBe(1767225600123);
	expect(readTime('2026-01-01T00:00:00Z', NOW)).toBe(Date.UTC(2026, 0, 1));
	expect(['yesterday', 'now-', 'now-1x', ''].map((t) => readTime(t, NOW))).toEqual([
		null,
		null,
		null,
		null,
	]);
	expect([readDuration('15s'), readDuration('500ms'), readDuration('x')]).toEqual([15e3, 500, null]);
	expect(spanOf({ from: 'now', until: 'now-1h' }, NOW)).toEqual({ from: NOW - 3600e3, until: NOW });
});

test('ranges move and grow, but not beyond now', () => {
	const span = { from: NOW - 100, until: NOW };
	expect(moved(span, -1)).toEqual({ from: NOW - 150, until: NOW - 50 });
	expect(zoomedOut(span, NOW)).toEqual({ from: NOW - 200, until: NOW });
	expect(zoomedOut({ from: 100, until: 200 }, NOW)).toEqual({ from: 50, until: 250 });
});

test('a query is read and written back', () => {
	const text = 'process_cpu:malloc:bytes::{service_name="a \\"b\\"", pid!="1", x=~"a|b", y!~"c"}';
	const read = readQuery(text).query!;
	expect(read.type).toBe('process_cpu:malloc:bytes::');
	expect(valueOf(read, 'service_name')).toBe('a "b"');
	expect(readQuery(writeQuery(read)).query).toEqual(read);
	expect(writeQuery(read)).toBe(text);
	expect(readQuery('{service_name="x"}').query).toEqual({
		type: '',
		matchers: [{ name: 'service_name', operator: '=', value: 'x' }],
	});
	expect(readQuery('memory:inuse_space:bytes:space:bytes').query!.matchers).toEqual([]);
});

test('an error has its place', () => {
	const at = (text: string) => [readQuery(text).error?.at, readQuery(text).error?.message];
	expect(at('t{a="b"')).toEqual([7, 'a "," or "}" belongs here']);
	expect(at('t{a}')).toEqual([3, 'one of = != =~ !~ belongs here']);
	expect(at('t{a=b}')).toEqual([4, 'a value in double quotes belongs here']);
	expect(at('t{a="b}')).toEqual([4, 'this value has no closing quote']);
	expect(at('t{="b"}')).toEqual([2, "a label's name belongs here"]);
	expect(at('t{a="b"} x')).toEqual([9, 'nothing may follow "}"']);
	expect(at('t{a=~"["}')).toEqual([5, 'this is no regular expression']);
	expect(at('t{a=~"(?i)x"}')).toEqual([undefined, undefined]);
});

test('choosing a value replaces what stood there', () => {
	const read = readQuery('t{a="1", b="2"}').query!;
	expect(writeQuery(withValue(read, 'a', '3'))).toBe('t{a="3", b="2"}');
	expect(writeQuery(withValue(read, 'b', ''))).toBe('t{a="1"}');
	expect(writeQuery(withValue(read, 'c', 'x', '!='))).toBe('t{a="1", b="2", c!="x"}');
});

test('a link says the same when it is read and written', () => {
	const search = '?query=a%7Bb%3D%22c%20d%22%7D&from=now-1h&until=now&unknown=%F0%9F%98%80';
	const params = readParams(search);
	expect(readParams(writeParams(params))).toEqual(params);
	expect(params.unknown).toBe('😀');
	expect(readParams('?a=%zz&b')).toEqual({ a: '%zz', b: '' });
	expect(changed({ a: '1', b: '2' }, { a: null, c: '3' })).toEqual({ b: '2', c: '3' });
	const base = new URL('http://h/prefix/ui/');
	expect(readPlace(new URL('http://h/prefix/ui/gpu?at=5'), base)).toEqual({
		page: 'gpu',
		params: { at: '5' },
	});
	expect(readPlace(new URL('http://h/prefix/ui/'), base).page).toBe('');
});

test('only what differs from the defaults is in a link', () => {
	const defaults = { frames: 'code', scheme: 'kind' } as const;
	const state = readViewState(
		{ search: 'x', frames: 'all', dir: 'flame', color: 'nonsense', hide: 'a\nb' },
		defaults,
	);
	expect(state).toMatchObject({
		search: 'x',
		frames: 'all',
		direction: 'flame',
		scheme: 'kind',
		hidden: ['a', 'b'],
		view: 'both',
	});
	expect(writeViewState({ frames: 'code', direction: 'flame', hidden: [] }, defaults)).toEqual({
		frames: null,
		dir: 'flame',
		hide: '',
	});
});

test('completion knows what stands at the cursor', () => {
	const at = (text: string) => slotAt(text.replace('|', ''), text.indexOf('|'));
	expect(at('mem|ory{}')).toMatchObject({ kind: 'type', typed: 'mem', to: 6 });
	expect(at('t{serv|')).toMatchObject({ kind: 'name', typed: 'serv', from: 2 });
	expect(at('t{a="x", p|od="1"}')).toMatchObject({ kind: 'name', from: 9, to: 12 });
	expect(at('t{service_name="vl|lm"}')).toMatchObject({
		kind: 'value',
		label: 'service_name',
		typed: 'vl',
		from: 16,
		to: 20,
	});
	expect(at('t{}|')).toBeNull();
	expect(completed('t{serv', at('t{serv|')!, 'service_name')).toEqual({
		text: 't{service_name=""',
		cursor: 16,
	});
	expect(completed('t{a="x"}', at('t{a="x|"}')!, 'y"z')).toEqual({ text: 't{a="y\\"z"}', cursor: 10 });
	expect(matching(['pod', 'k8s_pod', 'x'], 'po', 5)).toEqual(['pod', 'k8s_pod']);
});

test('bands stand on each other; a gap stays one', () => {
	const line = (values: (number | null)[], dash?: number[]) => ({
		label: '',
		color: '',
		values,
		...(dash ? { dash } : {}),
	});
	const bands = bandsOf([line([1, 2, null]), line([10, null, 30]), line([99, 99, 99], [2])], 'stacked');
	expect(bands.map((b) => b.high)).toEqual([
		[1, 2, null],
		[11, null, 30],
		[99, 99, 99],
	]);
	expect(bands[1]!.low).toEqual([1, 2, 0]);
	expect(mostOf(bands)).toBeCloseTo(99 * 1.06);
});

test('"now" is the time of the server', () => {
	const here = Date.now();
	noteDate(new Date(here + 1000).toUTCString(), here);
	expect(Math.abs(serverNow() - Date.now())).toBeLessThan(50);
	noteDate(new Date(here - 3600e3).toUTCString(), here);
	expect(Math.abs(serverNow() - (Date.now() - 3600e3))).toBeLessThan(1100);
	noteDate('nonsense');
	noteDate(new Date(here).toUTCString(), here);
	expect(Math.abs(serverNow() - Date.now())).toBeLessThan(50);
});

test('a lens shows its points and one beyond either edge', () => {
	expect(withinLens([0, 10, 20, 30, 40, 50], { from: 15, until: 35 })).toEqual([1, 5]);
	expect(withinLens([0, 10, 20], { from: -5, until: 99 })).toEqual([0, 3]);
	expect(withinLens([0, 10, 20], { from: 12, until: 13 })).toEqual([1, 3]);
	expect(areaOf([0, 10, 20, 30], [4, null, 2, 4], 0, 30)).toBe(
		'M0.0 40L0.0 3.0L0.0 40ZM666.7 40L666.7 21.5L1000.0 3.0L1000.0 40Z',
	);
});

test('ticks are round', () => {
	expect(valueTicks(5 * 2 ** 30, 'bytes', 3)).toEqual([0, 2 * 2 ** 30, 4 * 2 ** 30]);
	expect(valueTicks(7, 'count', 4)).toEqual([0, 2, 4, 6]);
	const hour = timeTicks(NOW, NOW + 3600e3, 6);
	expect(hour.map((tick) => (tick.t - NOW) / 60e3)).toEqual([0, 10, 20, 30, 40, 50, 60]);
	expect([nearest([0, 10, 20], 14), nearest([0, 10, 20], 16), nearest([], 1)]).toEqual([1, 2, -1]);
});

test('steps without a point are zero, or unknown of live things', () => {
	const points = [{ t: 30, value: 5 }];
	expect(filled(points, 0, 40, 10, 0).map((p) => [p.t, p.value])).toEqual([
		[0, 0],
		[10, 0],
		[20, 0],
		[30, 5],
		[40, 0],
		[50, 0],
	]);
	expect(filled(points, 25, 30, 10, null).map((p) => p.value)).toEqual([5, null]);
});

test('of a live type the mean stands for a value, of others the sum', () => {
	const series = {
		labels: { a: 'x' },
		points: [
			{ t: 0, value: 4 },
			{ t: 10, value: 8 },
		],
	};
	expect(rowOf(series, 'a', 0, 10, 10, true)).toMatchObject({
		value: 'x',
		sum: 6,
		least: 4,
		most: 8,
		p95: 8,
	});
	expect(rowOf(series, 'a', 0, 0, 10, false).sum).toBe(12);
});
