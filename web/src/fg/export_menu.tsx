/* Files and lines of text that show somebody else what is seen here. */
import { addressOf, ApiError } from '../api/http';
import { askPprof } from '../api/querier';
import { recall } from '../state/kept';
import { readQuery, writeSelector } from '../state/query_text';
import { download } from '../ui/download';
import { copyText } from '../ui/copy';
import { Icon } from '../ui/icons';
import { MenuButton } from '../ui/menu';
import { say } from '../ui/notice';
import type { Paint } from './color';
import { draw, heightOf } from './draw';
import { csvText, foldedText, jsonGraph, svgText } from './export_text';
import type { Layout } from './layout';
import type { Row } from './table';
import type { Tree } from './tree';

/** What was asked, for those who want to ask it elsewhere. */
export interface Source {
	readonly query: string;
	readonly from: number;
	readonly until: number;
	readonly at: number | null;
	readonly route: string; // api/v1/flamegraph, ...
	readonly parameters: Readonly<Record<string, string | number | null | undefined>>;
}

export interface ExportProps {
	readonly tree: Tree;
	readonly rows: readonly Row[];
	readonly layout: Layout;
	readonly paint: Paint;
	readonly unit: string;
	readonly title: string;
	readonly source: Source | undefined;
}

const PNG_WIDTH = 1600;
const PNG_HIGHEST = 8000;

export function ExportMenu(p: ExportProps) {
	const name = fileName(p.title);
	const save = (text: string, ending: string, type: string) =>
		download(new Blob([text], { type }), `${name}.${ending}`);
	const source = p.source;
	const pprof =
		source && source.at === null
			? [{ title: 'pprof (.pb.gz)', act: () => void savePprof(source, name) }]
			: [];
	const commands = source
		? [
				null,
				{ title: 'Copy as curl', act: () => copyText(curlOf(source), 'the command') },
				...(source.at === null
					? [
							{
								title: 'Copy as vramscope query',
								act: () => copyText(commandOf(source), 'the command'),
							},
						]
					: []),
			]
		: [];
	return (
		<MenuButton
			label="Export"
			entries={[
				...pprof,
				{ title: 'Folded stacks (.txt)', act: () => save(foldedText(p.tree), 'txt', 'text/plain') },
				{
					title: 'JSON',
					act: () =>
						save(JSON.stringify(jsonGraph(p.tree, p.title, p.unit)), 'json', 'application/json'),
				},
				{ title: 'Table (.csv)', act: () => save(csvText(p.tree, p.rows), 'csv', 'text/csv') },
				{
					title: 'SVG',
					act: () => save(svgText(p.layout, p.paint, p.title, p.unit), 'svg', 'image/svg+xml'),
				},
				{ title: 'PNG', act: () => savePng(p, name) },
				...commands,
			]}>
			<Icon name="save" /> Export ▾
		</MenuButton>
	);
}

async function savePprof(source: Source, name: string): Promise<void> {
	const read = readQuery(source.query);
	if (!read.query) return;
	try {
		const blob = await askPprof(
			read.query.type,
			writeSelector(read.query.matchers),
			{ from: source.from, until: source.until },
			new AbortController().signal,
		);
		download(await gzipped(blob), `${name}.pb.gz`);
	} catch (error) {
		say({
			text: `The profile was not saved: ${error instanceof ApiError ? error.message : String(error)}`,
		});
	}
}

async function gzipped(blob: Blob): Promise<Blob> {
	return new Response(blob.stream().pipeThrough(new CompressionStream('gzip'))).blob();
}

function savePng(p: ExportProps, name: string): void {
	const canvas = document.createElement('canvas');
	const height = Math.min(PNG_HIGHEST, heightOf(p));
	const scene = {
		layout: p.layout,
		window: { x0: 0, x1: p.layout.weight[0] ?? 0 },
		focusRow: 0,
		hits: null,
		paint: p.paint,
		label: (node: number) => p.tree.frames.names[p.tree.name[node]!] ?? '',
		hover: -1,
		cursor: -1,
		hoverName: -1,
		direction: 'down' as const,
		marks: null,
		theme: { back: '#ffffff', faint: '#dde1e7', faintInk: '#8b93a0', line: '#000000' },
	};
	draw(canvas, scene, 0, PNG_WIDTH, height);
	canvas.toBlob((blob) => blob && download(blob, `${name}.png`), 'image/png');
}

const quoted = (text: string) => `'${text.replace(/'/g, "'\\''")}'`;

export function curlOf(source: Source): string {
	const url = addressOf(source.route);
	const parts = Object.entries(source.parameters)
		.filter(([, value]) => value !== null && value !== undefined && value !== '')
		.map(([name, value]) => ` --data-urlencode ${quoted(`${name}=${value}`)}`);
	const tenant = recall('tenant');
	const who = tenant ? ` -H ${quoted(`X-Scope-OrgID: ${tenant}`)}` : '';
	return `curl -sG${who} ${quoted(url.href)}${parts.join('')}`;
}

export function commandOf(source: Source): string {
	const seconds = (ms: number) => new Date(ms).toISOString();
	const tenant = recall('tenant');
	const who = tenant ? ` --tenant ${quoted(tenant)}` : '';
	return `vramscope query -q ${quoted(source.query)} --from ${seconds(source.from)} --to ${seconds(source.until)} --url ${quoted(addressOf('').href.replace(/\/$/, ''))}${who}`;
}

function fileName(title: string): string {
	const plain = title
		.replace(/[^\w.-]+/g, '-')
		.replace(/^-+|-+$/g, '')
		.slice(0, 80);
	return plain || 'vramscope';
}
