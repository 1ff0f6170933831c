/* Bad input, accessibility, narrow screens, a prefix. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { boxesWhen, CHROMIUM, launch, open } from './browser';
import { fill, HOSTILE, LAST, tickMs, TICKS } from './fixture';
import { largeStacks } from './large';
import { Program } from './program';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const RANGE = `from=${tickMs(0) - 60_000}&until=${tickMs(TICKS - 1) + 1000}`;
const CPU = encodeURIComponent('process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="shop-api"}');
const MEMORY = 'memory:inuse_space:bytes:space:bytes';

const PAGES = [
	`?${RANGE}`,
	`gpu?${RANGE}`,
	`gpu?${RANGE}&tab=growth`,
	`oom?${RANGE}`,
	`profile?query=${CPU}&${RANGE}`,
	`labels?query=${CPU}&label=region&${RANGE}`,
	`diff?leftQuery=${CPU}&rightQuery=${CPU}&leftFrom=now-1h&rightFrom=now-1h`,
	`compare?leftQuery=${CPU}&rightQuery=${CPU}`,
	'upload',
	'server',
	'help',
	'nowhere',
];

describe.skipIf(!CHROMIUM)('bounds', () => {
	let program: Program;
	let browser: Browser;
	beforeAll(async () => {
		program = await Program.start([
			'-validation.max-profile-stacktrace-samples=0',
			'-validation.max-profile-size-bytes=0',
		]);
		await fill(program);
		await program.ingest('large.cpu', largeStacks(), LAST);
		browser = await launch();
	});
	afterAll(async () => {
		await browser?.close();
		await program?.stop();
	});

	const settled = async (page: Page) => {
		await page.waitForLoadState('networkidle');
		await page.waitForFunction(() => !document.querySelector('.waiting'));
	};

	for (const colorScheme of ['dark', 'light'] as const) {
		test(`no page has a violation that axe finds (${colorScheme})`, async () => {
			const { page, context } = await open(browser, program, { colorScheme, bypassCSP: true });
			const found: string[] = [];
			for (const path of PAGES) {
				await page.goto(program.pages + path);
				await settled(page);
				await page.evaluate(AXE);
				const result = await page.evaluate(() =>
					(window as any).axe.run(document, { resultTypes: ['violations'] }),
				);
				for (const v of result.violations)
					found.push(
						`${path}: ${v.id}: ${v.nodes
							.map((n: any) => n.target.join(' '))
							.slice(0, 3)
							.join(' | ')}`,
					);
			}
			await context.close();
			expect(found).toEqual([]);
		});
	}

	test('a phone: no page is wider than the screen', async () => {
		const { page, context } = await open(browser, program, { viewport: { width: 360, height: 780 } });
		for (const path of PAGES) {
			await page.goto(program.pages + path);
			await settled(page);
			expect([
				path,
				await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
			]).toEqual([path, 0]);
		}
		await context.close();
	});

	test('names of strangers stay text', async () => {
		const { page, context, complaints } = await open(browser, program);
		const query = `${MEMORY}{service_name="${HOSTILE[0]!.replace(/"/g, '\\"')}"}`;
		await page.goto(`${program.pages}?${RANGE}`);
		await settled(page);
		await page.goto(`${program.pages}profile?${RANGE}&at=${LAST}&query=${encodeURIComponent(query)}`);
		await boxesWhen(page, (boxes) => boxes.length === HOSTILE.length + 2);
		const names = await page.locator('.top-table .name').allTextContents();
		expect(names).toContain(HOSTILE[0]);
		expect(names).toContain(HOSTILE[1]);
		expect(names).toContain('abc\\u202egpj.exe');
		expect(names.find((name) => name.startsWith('longx'))!.length).toBeLessThan(500);
		await page.locator('.fg-canvas').hover({ position: { x: 60, y: 50 } });
		await page.locator('.tooltip').waitFor();
		expect(await page.evaluate(() => (window as any).__hurt)).toBeUndefined();
		expect(await page.locator('main img, main script').count()).toBe(0);
		expect(complaints).toEqual([]);
		await context.close();
	});

	test('a stack of 20,000 frames, and an empty answer', async () => {
		const { page, context, complaints } = await open(browser, program);
		await page.goto(`${program.pages}upload`);
		const deep = `${Array.from({ length: 20_000 }, (_, i) => `f${i % 50}`).join(';')} 3\n`;
		await page
			.getByLabel('Profiles')
			.setInputFiles([{ name: 'deep.txt', mimeType: 'text/plain', buffer: Buffer.from(deep) }]);
		await boxesWhen(page, (boxes) => boxes.length > 1);
		await page
			.getByRole('button', { name: 'Expand groups' })
			.or(page.getByRole('button', { name: 'Collapse groups' }))
			.first()
			.click();
		await page.goto(
			`${program.pages}profile?from=now-1h&query=${encodeURIComponent('process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="nobody"}')}`,
		);
		await page.getByText('sent nothing in this time').waitFor();
		await page.goto(`${program.pages}gpu?from=1&until=100000`);
		await page.getByText('No GPU memory in this time').waitFor();
		expect(complaints).toEqual([]);
		await context.close();
	});

	test('a server that stops in the middle is said, and asked again', async () => {
		const { page, context } = await open(browser, program);
		let cut = 1;
		await page.route('**/api/v1/flamegraph**', (route) =>
			cut-- > 0
				? route.fulfill({ body: '{"unit": "byt', contentType: 'application/json' })
				: route.continue(),
		);
		await page.goto(`${program.pages}profile?query=${CPU}&${RANGE}`);
		await page.getByText('The answer is no JSON.').waitFor();
		await page.getByRole('button', { name: 'Ask again' }).last().click();
		await boxesWhen(page, (boxes) => boxes.length === 6);
		await context.close();
	});

	test('a cut graph says so, and its table hides nothing', async () => {
		const { page, context } = await open(browser, program);
		await page.goto(
			`${program.pages}profile?maxNodes=2048&${RANGE}&query=${encodeURIComponent('process_cpu:cpu:nanoseconds:cpu:nanoseconds{service_name="large"}')}`,
		);
		await page.getByText('small nodes are folded into').waitFor();
		await page.getByText(/Show more: [\d,]+ functions are below/).waitFor();
		await page.getByRole('button', { name: 'Show all nodes' }).click();
		await page.waitForFunction(() => !document.body.textContent!.includes('small nodes are folded into'));
		await context.close();
	});

	test('below a prefix', async () => {
		const prefixed = await Program.start([], '/tools/gpu');
		const { page, context, complaints } = await open(browser, prefixed);
		await page.goto(`${prefixed.url}/tools/gpu/ui/help`);
		await page.getByRole('link', { name: 'Services' }).first().click();
		await page.getByText('No profiles yet').waitFor();
		expect(page.url()).toContain('/tools/gpu/ui/');
		expect(complaints).toEqual([]);
		await context.close();
		await prefixed.stop();
	});
});
