/* The program itself, on a free port with a store of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pprof, type Profile } from './pprof';

export const PROGRAM = resolve(
	process.env.VRAMSCOPE ?? join(import.meta.dirname, '../../build/debug/vramscope'),
);

/** The pages of this folder in the place of those that are compiled in: while they are being written. */
const WEB_DIR = process.env.VRAMSCOPE_WEB_DIR ?? '';

export async function until<T>(
	what: string,
	ask: () => T | Promise<T>,
	seconds = 240,
): Promise<NonNullable<T>> {
	const deadline = Date.now() + seconds * 1000;
	for (;;) {
		const value = await Promise.resolve(ask()).catch(() => null);
		if (value) return value;
		if (Date.now() > deadline) throw new Error(`waited ${seconds} s for ${what}`);
		await new Promise((done) => setTimeout(done, 20));
	}
}

export interface Series {
	readonly labels: Readonly<Record<string, string>>;
	readonly profiles: readonly Profile[];
}

export class Program {
	private constructor(
		private readonly process: ChildProcess,
		private readonly folder: string,
		readonly url: string,
		readonly prefix: string,
	) {}

	static async start(options: readonly string[] = [], prefix = ''): Promise<Program> {
		const folder = mkdtempSync(join(tmpdir(), 'vramscope-pages-'));
		const portFile = join(folder, 'port');
		const child = spawn(
			PROGRAM,
			[
				'server',
				'-server.http-listen-port=0',
				`-server.http-port-file=${portFile}`,
				`-storage.path=${join(folder, 'store')}`,
				'-validation.reject-older-than=0',
				...(WEB_DIR ? [`-server.web-dir=${resolve(WEB_DIR)}`] : []),
				...(prefix ? [`-server.path-prefix=${prefix}`] : []),
				...options,
			],
			{ stdio: ['ignore', 'ignore', 'inherit'] },
		);
		const port = await until(
			'the port of the program',
			() => existsSync(portFile) && readFileSync(portFile, 'utf8').trim(),
		);
		const program = new Program(child, folder, `http://127.0.0.1:${port}`, prefix);
		await until('the program to be ready', async () => (await fetch(`${program.url}${prefix}/ready`)).ok);
		return program;
	}

	async stop(): Promise<void> {
		const ended = new Promise((done) => this.process.once('exit', done));
		this.process.kill('SIGTERM');
		await ended;
		rmSync(this.folder, { recursive: true, force: true });
	}

	/** Pages are below this. */
	get pages(): string {
		return `${this.url}${this.prefix}/ui/`;
	}

	async push(series: readonly Series[]): Promise<void> {
		const message = {
			series: series.map((s) => ({
				labels: Object.entries(s.labels).map(([name, value]) => ({ name, value })),
				samples: s.profiles.map((p) => ({ rawProfile: Buffer.from(pprof(p)).toString('base64') })),
			})),
		};
		await this.post('/push.v1.PusherService/Push', JSON.stringify(message), 'application/json');
	}

	async ingest(name: string, folded: string, timeMs: number): Promise<void> {
		const seconds = Math.round(timeMs / 1000);
		await this.post(
			`/ingest?name=${encodeURIComponent(name)}&from=${seconds - 10}&until=${seconds}`,
			folded,
			'text/plain',
		);
	}

	async json(path: string): Promise<any> {
		const response = await fetch(this.url + this.prefix + path);
		if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
		return response.json();
	}

	private async post(path: string, body: string, type: string): Promise<void> {
		const response = await fetch(this.url + this.prefix + path, {
			method: 'POST',
			body,
			headers: { 'Content-Type': type },
		});
		if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
	}
}
