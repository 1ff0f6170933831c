/* What the pages show is what was pushed: every number here follows from fixture.ts by arithmetic. */
import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { format } from '../src/state/units';
import { readPprof } from '../src/api/profile_file';
import { boxesWhen, CHROMIUM, click, drawn, launch, open, type Opened, table } from './browser';
import {
	cacheAt,
	CACHE_FROM,
	engineAt,
	fill,
	GIB,
	HOST,
	leakAt,
	LLM,
	OOM_AT,
	REQUESTED,
	SPIKE_AT,
	tickMs,
	TICKS,
	trainAt,
	weights,
} from './fixture';
import { Program } from './program';

const CPU = 'process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="shop-api"}';
const bytes = (value: number) => format(value, 'bytes');
const RANGE = `from=${tickMs(0) - 60_000}&until=${tickMs(TICKS - 1) + 1000}`;

describe.skipIf(!CHROMIUM)('pages', () => {
	let program: Program;
	let browser: Browser;
	let opened: Opened;
	beforeAll(async () => {
		program = await Program.start();
		await fill(program);
		browser = await launch();
		opened = await open(browser, program);
	});
	afterAll(async () => {
		await browser?.close();
		await program?.stop();
	});
	const go = async (path: string) => {
		await opened.page.goto(program.pages + path);
		return opened.page;
	};

	test('services: GPU first, and each leads to its data', async () => {
		const page = await go(`?${RANGE}`);
		const names = page.locator('.list tbody th a');
		await names.first().waitFor();
		expect((await names.allTextContents()).slice(0, 2).sort()).toEqual(['trainer', 'vllm-engine']);
		await page.getByLabel('Filter services').fill('shop');
		expect(await names.allTextContents()).toEqual(['shop-api']);
		await names.first().click();
		// five profiles of a second, and one of a tenth
		const boxes = await boxesWhen(page, (all) => all.length === 6);
		expect(Object.fromEntries(boxes.map((b) => [b.name, b.total]))).toEqual({
			total: 5.1e9,
			main: 5.1e9,
			handle: 4.1e9,
			decode: 1.5e9,
			encode: 2.6e9,
			idle: 1e9,
		});
		expect(await table(page)).toMatchObject({
			encode: ['2.6 s', '2.6 s'],
			main: ['0 ns', '5.1 s'],
			handle: ['0 ns', '4.1 s'],
		});
	});

	test('filters are applied, and an error in the query has its place', async () => {
		const page = await go(`profile?query=${encodeURIComponent(CPU)}&${RANGE}`);
		await boxesWhen(page, (all) => all.length === 6);
		const line = page.getByLabel('Query');
		await line.fill(CPU.replace('}', ', region="us"}'));
		await line.press('Enter');
		await boxesWhen(page, (all) => all[0]?.total === 1e8);
		const cut = `${CPU.slice(0, -1)}, region="us`;
		await line.fill(cut);
		await page
			.getByText(`this value has no closing quote (at character ${cut.length - '"us'.length + 1})`)
			.waitFor();
		await line.press('Escape');
		await page.getByLabel('Remove region').waitFor();
	});

	test('focus, search, sandwich and back; all of it is in the link', async () => {
		const page = await go(`profile?query=${encodeURIComponent(CPU)}&${RANGE}`);
		const all = await boxesWhen(page, (boxes) => boxes.length === 6);
		await click(
			page,
			all.find((b) => b.name === 'handle')!,
		);
		const focused = await boxesWhen(page, (boxes) => boxes.length === 5);
		expect(
			focused.find((b) => b.name === 'encode')!.width / focused.find((b) => b.name === 'handle')!.width,
		).toBeCloseTo(2.6 / 4.1, 1);
		await page.getByLabel('Search functions').fill('code');
		await page.getByText('4.1 s · 80.4 %').waitFor();
		await page.waitForFunction(() => location.search.includes('search=code'));
		const other = await open(browser, program);
		await other.page.goto(page.url());
		const copy = await boxesWhen(other.page, (boxes) => boxes.length === 5);
		expect(copy).toEqual((await drawn(page)).boxes);
		expect(await other.page.getByLabel('Search functions').inputValue()).toBe('code');
		await other.context.close();
		await page.keyboard.press('Escape');
		await page.getByRole('button', { name: 'Reset', exact: true }).click();
		await page.getByLabel('Sandwich view of encode').click();
		await page.getByText('2.6 s · 51.0 %').waitFor();
		expect((await drawn(page, 0)).boxes.map((b) => b.name).sort()).toEqual(['encode', 'handle', 'main']);
		await page.goBack();
		await boxesWhen(page, (boxes) => boxes.length === 6);
	});

	test('with the keyboard alone', async () => {
		const page = await go(`profile?query=${encodeURIComponent(CPU)}&${RANGE}`);
		await boxesWhen(page, (boxes) => boxes.length === 6);
		await page.locator('.fg-canvas').focus();
		for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown']) await page.keyboard.press(key);
		await page.getByText('encode, self 2.6 s, total 2.6 s, 51.0 %, level 4').waitFor();
		await page.keyboard.press('ArrowLeft');
		await page.getByText('decode, self 1.5 s').waitFor();
		await page.keyboard.press('Enter');
		await boxesWhen(page, (boxes) => boxes.length === 4);
		await page.keyboard.press('Backspace');
		await boxesWhen(page, (boxes) => boxes.length === 5);
		await page.keyboard.press('m');
		await page.getByRole('menuitem', { name: 'Copy stack' }).waitFor();
		await page.keyboard.press('Escape');
		await page.getByRole('menuitem', { name: 'Copy stack' }).waitFor({ state: 'detached' });
		await page.keyboard.press('Escape');
		await boxesWhen(page, (boxes) => boxes.length === 6);
		await page.keyboard.press('?');
		await page.getByRole('dialog', { name: 'Keys' }).waitFor();
		await page.keyboard.press('Escape');
		await page.keyboard.press('/');
		expect(await page.evaluate(() => document.activeElement?.hasAttribute('data-search'))).toBe(true);
	});

	test('GPU memory: newest moment, without the interpreter; one click shows it', async () => {
		const page = await go(`gpu?${RANGE}`);
		const last = TICKS - 1;
		const boxes = await boxesWhen(page, (all) => all[0]?.total === engineAt(last));
		const total = (name: string) => boxes.find((b) => b.name === name)?.total;
		expect(total('GPUModelRunner._allocate_kv_cache_tensors')).toBe(40 * GIB);
		expect(total('LlamaMLP.__init__')).toBe(weights);
		expect(total('BlockPool.get_new_blocks')).toBe(leakAt(last));
		expect(total('_PyEval_EvalFrameDefault')).toBeUndefined();
		await page.getByRole('button', { name: 'Without interpreter' }).click();
		await page.getByRole('menuitemradio', { name: 'All frames' }).click();
		await boxesWhen(page, (all) => all.some((b) => b.name === '_PyEval_EvalFrameDefault'));
		await page.getByRole('button', { name: 'All frames' }).click();
		await page.getByRole('menuitemradio', { name: 'Python only' }).click();
		const python = await boxesWhen(page, (all) => !all.some((b) => b.name === 'cuMemAlloc_v2'));
		expect(python.find((b) => b.name === 'LlamaMLP.__init__')!.self).toBe(weights);
		await page.getByText('gpu_model_runner.py:2874').first().waitFor();
	});

	test('GPU memory: a click shows what was live then', async () => {
		const page = await go(`gpu?${RANGE}`);
		await boxesWhen(page, (all) => all.length > 1);
		const chart = page.getByRole('slider', { name: 'GPU memory over time' });
		const { width } = (await chart.boundingBox())!;
		await chart.click({ position: { x: 70 + (width - 80) * 0.3, y: 100 } });
		await page.waitForFunction(() => new URLSearchParams(location.search).has('at'));
		const at = Number(new URL(page.url()).searchParams.get('at'));
		const tick = Math.floor((at - tickMs(0)) / 15_000);
		expect(Math.abs(tick - TICKS * 0.28)).toBeLessThan(6);
		await boxesWhen(page, (all) => all[0]?.total === engineAt(tick) + trainAt(tick));
	});

	test('GPU memory: the peak of a process, and only its own stacks', async () => {
		const page = await go(`gpu?${RANGE}`);
		const row = page.locator('.processes tbody tr', { hasText: 'trainer' });
		await row.waitFor();
		expect(await row.locator('td').nth(1).textContent()).toContain('10 GiB');
		await row.getByRole('button', { name: /◆/ }).click();
		await page.getByText('Peak: live at').waitFor();
		const boxes = await boxesWhen(page, (all) => all[0]?.total === trainAt(SPIKE_AT));
		expect(boxes.find((b) => b.name === 'Trainer.evaluate')!.total).toBe(4 * GIB);
		await page.getByText('exactly at a tick').waitFor();
	});

	test('GPU memory: what changed in a time, and growth by stack', async () => {
		const [from, until] = [tickMs(CACHE_FROM - 5), tickMs(CACHE_FROM + 5)];
		const page = await go(`gpu?${RANGE}&cfrom=${from}&cuntil=${until}`);
		const change = engineAt(CACHE_FROM + 5) - engineAt(CACHE_FROM - 5);
		await page
			.getByText(`+${bytes(change)}`)
			.first()
			.waitFor();
		const row = page.locator('.top-table tbody tr', { hasText: '_initialize_kv_caches' });
		expect(await row.locator('.num').allTextContents()).toEqual([
			'0 B',
			'40 GiB',
			'+40 GiB',
			'new',
			'0 B',
		]);
		await page.getByRole('button', { name: 'allocated only' }).click();
		await boxesWhen(page, (all) => all[0]?.total === 40 * GIB + 11 * 32 * 2 ** 20);
		await page.getByRole('tab', { name: 'Growth by stack' }).click();
		const first = page.locator('.growth tbody tr').first();
		await first.waitFor();
		expect(await first.locator('td').allTextContents()).toEqual(
			expect.arrayContaining(['40 GiB', '+40 GiB']),
		);
	});

	test('baseline: mark, go on, diff; the link alone shows the same', async () => {
		const [before, now] = [CACHE_FROM - 10, CACHE_FROM + 10];
		const page = await go(`gpu?${RANGE}&at=${tickMs(before)}`);
		await boxesWhen(page, (all) => all[0]?.total === engineAt(before));
		await page.getByRole('button', { name: 'Baseline' }).click();
		await page.getByRole('menuitem', { name: 'Mark as baseline' }).click();
		await go(`gpu?${RANGE}&at=${tickMs(now)}`);
		await boxesWhen(page, (all) => all[0]?.total === engineAt(now) + trainAt(now));
		await page.getByRole('button', { name: 'Baseline' }).click();
		await page.getByRole('menuitem', { name: 'Diff with baseline' }).click();
		const change = engineAt(now) + trainAt(now) - engineAt(before);
		await page
			.getByText(`+${bytes(change)}`)
			.first()
			.waitFor();
		const other = await open(browser, program);
		await other.page.goto(page.url());
		await other.page
			.getByText(`+${bytes(change)}`)
			.first()
			.waitFor();
		await other.page.getByRole('button', { name: 'normalised' }).click();
		await other.page.waitForFunction(() => location.search.includes('mode=normalised'));
		await other.page.getByText("Shares of each side's own total are compared.").waitFor();
		const row = other.page.locator('.top-table tbody tr', { hasText: '_initialize_kv_caches' });
		const share = ((cacheAt(now) / (engineAt(now) + trainAt(now))) * 100).toFixed(1);
		expect((await row.locator('.num').allTextContents())[1]).toBe(`${share} %`);
		await other.page.getByRole('link', { name: 'Side by side' }).click();
		await boxesWhen(other.page, (all) => all[0]?.total === engineAt(before), 0);
		await boxesWhen(other.page, (all) => all[0]?.total === engineAt(now) + trainAt(now), 1);
		expect(other.complaints).toEqual([]);
		await other.context.close();
	});

	test('OOM events: the list, and one of them', async () => {
		const page = await go(`oom?${RANGE}`);
		const row = page.locator('.ooms tbody tr');
		await row.first().waitFor();
		expect(await row.count()).toBe(1);
		expect(await row.locator('td').nth(2).textContent()).toBe(bytes(REQUESTED));
		expect(await row.locator('td').nth(3).textContent()).toBe(bytes(60 * GIB));
		await row.locator('a').click();
		const boxes = await boxesWhen(page, (all) => all[0]?.total === 60 * GIB);
		expect(boxes.find((b) => b.name === 'Trainer.step')!.total).toBe(6 * GIB);
		await page.getByText('63 GiB of 80 GiB used (78.8 %)').waitFor();
		await page.getByText('Trainer.evaluate').first().waitFor();
		await page.getByRole('link', { name: 'Diff with 5 minutes before' }).click();
		// the tick before the event, and five minutes earlier: 20 ticks of 32 MiB
		await page
			.getByText(`+${bytes(leakAt(OOM_AT - 1) - leakAt(OOM_AT - 21))}`)
			.first()
			.waitFor();
	});

	test('labels: shares of a label, and one click keeps a value', async () => {
		const page = await go(`labels?query=${encodeURIComponent(CPU)}&label=region&${RANGE}`);
		const rows = page.locator('.list tbody tr');
		await rows.first().waitFor();
		expect(await rows.nth(0).locator('td').nth(1).textContent()).toBe('5 s');
		expect(await rows.nth(1).locator('td').nth(2).textContent()).toBe('1.96 %');
		await rows.nth(1).getByRole('button', { name: 'only' }).click();
		await page.getByLabel('Remove region').waitFor();
	});

	test('exports can be read back', async () => {
		const page = await go(`profile?query=${encodeURIComponent(CPU)}&${RANGE}`);
		await boxesWhen(page, (boxes) => boxes.length === 6);
		const save = async (title: string) => {
			await page.getByRole('button', { name: 'Export' }).click();
			const [file] = await Promise.all([
				page.waitForEvent('download'),
				page.getByRole('menuitem', { name: title }).click(),
			]);
			return readFileSync(await file.path());
		};
		expect((await save('Folded stacks (.txt)')).toString()).toBe(
			'main;handle;decode 1500000000\nmain;handle;encode 2600000000\nmain;idle 1000000000\n',
		);
		expect((await save('Table (.csv)')).toString().split('\r\n')).toContain(
			'encode,,other,2600000000,2600000000',
		);
		const svg = (await save('SVG')).toString();
		expect(svg).toContain('<title>encode: 2,600,000,000 nanoseconds, 51.0 %');
		const pprof = readPprof('x', gunzipSync(await save('pprof (.pb.gz)')));
		expect(pprof.tree(0).total[0]).toBe(5.1e9);
		expect((await save('PNG')).subarray(1, 4).toString()).toBe('PNG');
		expect(JSON.parse((await save('JSON')).toString()).unit).toBe('nanoseconds');
	});

	test('uploads: one file, two as a diff, and stored', async () => {
		const page = await go('upload');
		const file = (name: string, text: string) => ({
			name,
			mimeType: 'text/plain',
			buffer: Buffer.from(text),
		});
		await page
			.getByLabel('Profiles')
			.setInputFiles([
				file('before.txt', 'a;b 5\na;c 1\n'),
				file('now.txt', 'a;b 7\nx 2\n'),
				file('bad.txt', 'no number\n'),
			]);
		await page.getByText('bad.txt: line 1 is no stack').waitFor();
		await page.getByRole('button', { name: 'diff' }).click();
		await page.waitForFunction(() => location.search.includes('show=diff'));
		const row = (name: string) =>
			page
				.locator('.top-table tbody tr')
				.filter({ has: page.locator('.name', { hasText: new RegExp(`^${name}$`) }) });
		expect(await row('b').locator('.num').allTextContents()).toEqual(['5', '7', '+2', '+40.0 %', '+2']);
		expect((await row('c').locator('.num').allTextContents())[3]).toBe('gone');
		await page.getByRole('button', { name: 'single' }).click();
		await page.getByLabel('Store under service').fill('uploaded');
		await page.getByRole('button', { name: 'Store', exact: true }).click();
		await page.getByText('Stored: see the services').click();
		await page.getByRole('link', { name: 'uploaded' }).waitFor();
	});

	test('the table of processes agrees with the server to the byte', async () => {
		const page = await go(`gpu?${RANGE}&at=${tickMs(60)}`);
		const cell = page.locator('.processes tbody tr', { hasText: 'vllm-engine' }).locator('td').first();
		await cell.waitFor();
		await page.waitForFunction(
			(wanted) =>
				[...document.querySelectorAll('.processes td')].some(
					(td) => td.getAttribute('title') === wanted,
				),
			`${engineAt(60).toLocaleString('en')} bytes`,
		);
		const said = await program.json(`/api/gpu/processes?at=${tickMs(60)}&from=${tickMs(0)}`);
		expect(said.processes.find((p: any) => p.labels.pid === LLM.pid).live_bytes).toBe(engineAt(60));
		expect(said.processes[0].labels.hostname).toBe(HOST);
	});

	test('the server page and the theme', async () => {
		const page = await go('server');
		await page.getByText('Profiles in the last minute').waitFor();
		await page.getByRole('button', { name: 'Theme' }).click();
		await page.getByRole('menuitemradio', { name: 'Light' }).click();
		expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light');
		await page.reload();
		expect(await page.evaluate(() => document.documentElement.dataset.theme)).toBe('light');
	});

	test('nothing complained, and nobody else was asked', () => {
		expect(opened.complaints).toEqual([]);
	});
});
