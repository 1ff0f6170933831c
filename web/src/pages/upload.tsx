/* Files that are looked at without being stored: one, two side by side, or their diff. */
import { useMemo, useRef, useState } from 'preact/hooks';
import type { Graph } from '../api/flamegraph';
import { ApiError, postBytes } from '../api/http';
import { type ProfileFile, readProfileFile } from '../api/profile_file';
import { FlameView } from '../fg/flame_view';
import { paired } from '../fg/pair';
import { type Tree } from '../fg/tree';
import { rowsOf } from '../fg/table';
import { change, linkTo, type Params } from '../state/location';
import { PageHead } from '../ui/page_head';
import { shortened } from '../ui/text';

interface Loaded extends ProfileFile {
	readonly file: File;
}

const MOST_FILES = 10;

export function UploadPage({ params }: { params: Params }) {
	const [files, setFiles] = useState<readonly Loaded[]>([]);
	const [errors, setErrors] = useState<readonly string[]>([]);
	const load = async (list: readonly File[]) => {
		const failed: string[] = [];
		const read: Loaded[] = [];
		for (const file of list.slice(0, MOST_FILES)) {
			try {
				read.push({ ...(await readProfileFile(file)), file });
			} catch (error) {
				failed.push(
					`${shortened(file.name, 80)}: ${error instanceof Error ? error.message : String(error)}`,
				);
			}
		}
		setErrors(failed);
		// others may have been read meanwhile
		setFiles((old) => [...old, ...read].slice(-MOST_FILES));
	};
	const show =
		files.length > 1 && (params.show === 'compare' || params.show === 'diff') ? params.show : 'single';
	return (
		<main class="page">
			<PageHead title="Upload">
				{files.length > 1 && (
					<span class="choice" role="group" aria-label="How they are shown">
						{(['single', 'compare', 'diff'] as const).map((how) => (
							<button
								type="button"
								key={how}
								aria-pressed={show === how}
								onClick={() => change({ show: how === 'single' ? null : how })}>
								{how}
							</button>
						))}
					</span>
				)}
				{files.length > 0 && (
					<button type="button" onClick={() => setFiles([])}>
						Forget them
					</button>
				)}
			</PageHead>
			<DropZone onFiles={(list) => void load(list)} small={files.length > 0} />
			{errors.length > 0 && (
				<div class="failure" role="alert">
					{errors.map((e) => (
						<p key={e}>{e}</p>
					))}
				</div>
			)}
			{files.length > 0 && <Files files={files} params={params} show={show} />}
		</main>
	);
}

function DropZone({ onFiles, small }: { onFiles: (files: File[]) => void; small: boolean }) {
	const [over, setOver] = useState(false);
	const input = useRef<HTMLInputElement>(null);
	return (
		<div
			class={`card drop-zone${over ? ' over' : ''}${small ? ' small-zone' : ''}`}
			onDragOver={(e) => (e.preventDefault(), setOver(true))}
			onDragLeave={() => setOver(false)}
			onDrop={(e) => {
				e.preventDefault();
				setOver(false);
				onFiles([...(e.dataTransfer?.files ?? [])]);
			}}>
			<p>
				<strong>Drop profiles here</strong>, or{' '}
				<button type="button" onClick={() => input.current?.click()}>
					choose files
				</button>
			</p>
			{!small && (
				<p class="quiet">
					pprof (gzip or not), folded stacks, or JSON that these pages saved. They are read in this
					browser; nothing is sent unless you store it.
				</p>
			)}
			<input
				ref={input}
				type="file"
				multiple
				class="hidden"
				aria-label="Profiles"
				tabIndex={-1}
				onChange={(e) => (onFiles([...(e.currentTarget.files ?? [])]), (e.currentTarget.value = ''))}
			/>
		</div>
	);
}

function graphOf(tree: Tree, unit: string): Graph {
	return {
		tree,
		unit,
		total: tree.total[0] ?? 0,
		totalBefore: tree.before?.total[0] ?? 0,
		folded: 0,
		rows: rowsOf(tree),
		side: { tickMs: null, exact: true, snapshots: null },
		sandwich: null,
	};
}

function Files({
	files,
	params,
	show,
}: {
	files: readonly Loaded[];
	params: Params;
	show: 'single' | 'compare' | 'diff';
}) {
	const index = (name: string, otherwise: number, count = files.length) =>
		Math.min(count - 1, Math.max(0, Math.trunc(Number(params[name] ?? otherwise)) || 0));
	const first = index('file', show === 'single' ? files.length - 1 : 0);
	const second = index('other', 1);
	const pick = (name: string, value: number) => (
		<label>
			{name === 'file' ? (show === 'single' ? 'File' : 'Before') : 'Now'}{' '}
			<select value={value} onChange={(e) => change({ [name]: e.currentTarget.value })}>
				{files.map((f, i) => (
					<option key={i} value={i}>
						{shortened(f.name, 60)}
					</option>
				))}
			</select>
		</label>
	);
	const types = files[first]?.types.length ?? 1;
	const type = index('type', types - 1, types);
	return (
		<>
			<div class="card controls row">
				{pick('file', first)}
				{show !== 'single' && pick('other', second)}
				<label>
					Values{' '}
					<select value={type} onChange={(e) => change({ type: e.currentTarget.value })}>
						{files[first]!.types.map((t, i) => (
							<option key={i} value={i}>{`${t.type} (${t.unit})`}</option>
						))}
					</select>
				</label>
				{show === 'single' && <StoreForm loaded={files[first]!} />}
			</div>
			{show === 'diff' ? (
				<FileDiff before={files[first]!} now={files[second]!} type={type} />
			) : (
				<div class={show === 'compare' ? 'sides' : ''}>
					<FileView file={files[first]!} type={type} />
					{show === 'compare' && <FileView file={files[second]!} type={type} />}
				</div>
			)}
		</>
	);
}

function FileView({ file, type }: { file: Loaded; type: number }) {
	const at = Math.min(type, file.types.length - 1);
	const graph = useMemo(() => graphOf(file.tree(at), file.types[at]!.unit), [file, at]);
	return (
		<div class="card">
			<FlameView graph={graph} title={file.name} mode={graph.tree.before ? 'absolute' : 'single'} />
		</div>
	);
}

function FileDiff({ before, now, type }: { before: Loaded; now: Loaded; type: number }) {
	const unit = now.types[Math.min(type, now.types.length - 1)]!.unit;
	const graph = useMemo(
		() =>
			graphOf(
				paired(
					before.tree(Math.min(type, before.types.length - 1)),
					now.tree(Math.min(type, now.types.length - 1)),
				),
				unit,
			),
		[before, now, type],
	);
	return (
		<div class="card">
			<FlameView graph={graph} mode="absolute" title={`${before.name} and ${now.name}`} />
		</div>
	);
}

/** Sends the file itself: it then is like any other profile. */
function StoreForm({ loaded }: { loaded: Loaded }) {
	const [service, setService] = useState('');
	const [said, setSaid] = useState('');
	if (loaded.format === 'json') return null;
	const store = async (event: Event) => {
		event.preventDefault();
		const name = service.trim();
		try {
			const now = Math.round(Date.now() / 1000);
			await postBytes(
				'ingest',
				{ name, format: loaded.format, from: now, until: now },
				loaded.file,
				new AbortController().signal,
			);
			setSaid('stored');
		} catch (error) {
			setSaid(error instanceof ApiError ? error.message : String(error));
		}
	};
	return (
		<form class="store" onSubmit={(e) => void store(e)}>
			<label>
				Store under service{' '}
				<input
					value={service}
					required
					onInput={(e) => (setService(e.currentTarget.value), setSaid(''))}
				/>
			</label>
			<button type="submit" disabled={service.trim() === ''}>
				Store
			</button>
			<span role="status">
				{said === 'stored' ? <a href={linkTo('', {})}>Stored: see the services</a> : said}
			</span>
		</form>
	);
}
