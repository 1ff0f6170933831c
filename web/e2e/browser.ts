/* Debian's Chromium, and pages that must not complain nor ask anybody else. */
import { existsSync } from 'node:fs';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import type { Program } from './program';

const PLACES = [
	process.env.CHROMIUM ?? '',
	'/usr/bin/chromium',
	'/usr/bin/chromium-browser',
	'/usr/bin/google-chrome',
];
export const CHROMIUM = PLACES.find((path) => path !== '' && existsSync(path)) ?? '';

/** Machines are busy; nothing here waits for a time to pass. */
const PATIENCE_MS = 180_000;

const FLAGS = [
	'--headless',
	'--no-sandbox',
	'--disable-gpu',
	'--disable-quic',
	'--no-first-run',
	'--disable-background-networking',
	'--disable-component-update',
	'--disable-sync',
];

export const launch = (): Promise<Browser> => chromium.launch({ executablePath: CHROMIUM, args: FLAGS });

export interface Opened {
	readonly context: BrowserContext;
	readonly page: Page;
	readonly complaints: string[]; // errors of the page, and requests to others
}

export async function open(
	browser: Browser,
	program: Program,
	options: Parameters<Browser['newContext']>[0] = {},
): Promise<Opened> {
	const context = await browser.newContext({
		viewport: { width: 1280, height: 900 },
		acceptDownloads: true,
		...options,
	});
	context.setDefaultTimeout(PATIENCE_MS);
	const page = await context.newPage();
	const complaints: string[] = [];
	page.on('pageerror', (error) => complaints.push(`error: ${error.message}`));
	page.on(
		'console',
		(message) => message.type() === 'error' && complaints.push(`console: ${message.text()}`),
	);
	page.on('request', (request) => {
		const url = new URL(request.url());
		if (url.protocol.startsWith('http') && url.origin !== program.url)
			complaints.push(`asks ${url.origin}`);
	});
	return { context, page, complaints };
}

export interface Box {
	readonly name: string;
	readonly row: number;
	readonly x: number;
	readonly y: number;
	readonly width: number;
	readonly total: number;
	readonly self: number;
	readonly badge: number;
}

export interface Drawn {
	readonly drawn: number;
	readonly ms: number;
	readonly at: number;
	readonly boxes: readonly Box[];
}

/** What the nth flame graph of a page shows. */
export async function drawn(page: Page, nth = 0): Promise<Drawn> {
	await page.waitForFunction((n) => (document.querySelectorAll('.fg-canvas')[n] as any)?.__fg, nth);
	return page.evaluate((n) => {
		const { drawn, ms, at, layout } = (document.querySelectorAll('.fg-canvas')[n] as any).__fg;
		return { drawn, ms, at, boxes: layout() };
	}, nth);
}

/** Waits until what is drawn satisfies; gives its boxes. */
export async function boxesWhen(
	page: Page,
	holds: (boxes: readonly Box[]) => boolean,
	nth = 0,
): Promise<readonly Box[]> {
	const deadline = Date.now() + PATIENCE_MS;
	for (;;) {
		const { boxes } = await drawn(page, nth);
		if (holds(boxes)) return boxes;
		if (Date.now() > deadline)
			throw new Error(
				`the graph never came to what was awaited; it has ${boxes
					.slice(0, 12)
					.map((b) => `${b.name} ${b.total}`)
					.join(', ')}`,
			);
		await page.waitForTimeout(50);
	}
}

export async function click(
	page: Page,
	box: Box,
	options: { button?: 'left' | 'right' } = {},
): Promise<void> {
	await page
		.locator('.fg-canvas')
		.first()
		.click({ position: { x: box.x + Math.min(box.width / 2, 40), y: box.y + 8 }, ...options });
}

export async function table(page: Page): Promise<Record<string, string[]>> {
	return page.evaluate(() =>
		Object.fromEntries(
			[...document.querySelectorAll('.top-table tbody tr')].map((row) => [
				row.querySelector('.name')?.textContent ?? '',
				[...row.querySelectorAll('.num')].map((cell) => cell.textContent ?? ''),
			]),
		),
	);
}
