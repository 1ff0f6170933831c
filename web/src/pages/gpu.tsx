/* GPU memory: who holds how much over time; below it what was live at a moment, or what changed. */
import { useMemo } from 'preact/hooks';
import { askProcesses, askTimeline, num, type Process } from '../api/gpu';
import { useAnswer } from '../state/answer';
import { change, type Params } from '../state/location';
import { asRange, rangeOf, useTimed } from '../state/range';
import { span as spanText } from '../state/time';
import { FirstSteps } from '../ui/first_steps';
import { MenuButton } from '../ui/menu';
import { type Lens, Overview, withinLens } from '../ui/overview';
import { PageHead } from '../ui/page_head';
import { Empty, Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';
import { LINE_COLORS, type Line, type Mark, OTHER_COLOR, Timeline } from '../ui/timeline';
import { CLASS_TITLES, type ClassSet, liveQuery, processById, readClassSet, withProcess } from './gpu_query';
import { GpuDetail } from './gpu_detail';
import { ProcessTable } from './gpu_processes';

const BY: Readonly<Record<string, string>> = {
	process: 'process',
	service_name: 'service',
	k8s_podName: 'pod',
	k8s_namespace: 'namespace',
	gpu: 'GPU',
	cuda_class: 'memory class',
};
const SERIES = 9;

export function GpuPage({ params }: { params: Params }) {
	const timed = useTimed(params);
	const { from, until } = timed.span;
	const by = params.by && BY[params.by] ? params.by : 'process';
	const classes = readClassSet(params.class);
	const selector = params.selector ?? '';
	const asked = { from, until, selector: withClasses(selector, classes) };
	const timeline = useAnswer(JSON.stringify({ ...asked, by }), (signal) =>
		askTimeline({ ...asked, by, top: SERIES }, signal),
	);
	const at = params.at ? Number(params.at) : timeline.data && newest(timeline.data, until);
	const processes = useAnswer(at === null ? null : JSON.stringify({ ...asked, at }), (signal) =>
		askProcesses({ ...asked, at, limit: 500 }, signal),
	);
	const chosen = processById(processes.data?.processes ?? [], params.process);
	const query = liveQuery(withProcess(selector, chosen), classes);
	const nothing =
		timeline.data !== null &&
		timeline.data.total.every((v) => v === null) &&
		processes.data?.processes.length === 0 &&
		!timeline.loading;
	return (
		<main class="page">
			<PageHead
				title="GPU memory"
				timed={timed}
				clears={['at', 'cfrom', 'cuntil', 'peak', 'lens']}
				seen={at === null ? null : { query, ...asRange(timed.span), at: String(at) }}>
				<MenuButton
					label="Lines by"
					entries={Object.entries(BY).map(([key, title]) => ({
						title: `by ${title}`,
						checked: by === key,
						act: () => change({ by: key === 'process' ? null : key }),
					}))}>
					by {BY[by]} ▾
				</MenuButton>
				<MenuButton
					label="Memory classes"
					entries={Object.entries(CLASS_TITLES).map(([key, title]) => ({
						title,
						checked: classes === key,
						act: () => change({ class: key === 'device' ? null : key }),
					}))}>
					{CLASS_TITLES[classes]} ▾
				</MenuButton>
				{selector && (
					<span class="chip">
						<bdi>{shortened(selector, 80)}</bdi>
						<button
							type="button"
							class="plain"
							aria-label="Without this selector"
							onClick={() => change({ selector: null, process: null })}>
							✕
						</button>
					</span>
				)}
			</PageHead>
			<Failure asked={timeline} what="the timeline" />
			{!timeline.data && <Waiting asked={timeline} what="GPU memory" />}
			{nothing && <NoGpu params={params} />}
			{timeline.data && !nothing && (
				<>
					<GpuTimeline params={params} data={timeline.data} at={at} stale={timeline.loading} />
					<Failure asked={processes} what="the processes" />
					{processes.data && (
						<ProcessTable
							data={processes.data}
							chosen={chosen}
							span={timed.span}
							stale={processes.loading}
						/>
					)}
					{at !== null && (
						<GpuDetail
							at={at}
							params={params}
							query={query}
							selector={withClasses(withProcess(selector, chosen), classes)}
							chosen={chosen}
							span={timed.span}
						/>
					)}
				</>
			)}
		</main>
	);
}

/** The last moment of the range of which something is known. */
function newest(data: GpuTimelineProps['data'], until: number): number {
	for (let i = data.total.length - 1; i >= 0; i--) {
		if (data.total[i] !== null) return Math.min(Math.round(until), data.start_ms + i * data.step_ms);
	}
	return Math.round(until);
}

/** Device memory is what these routes mean unless their selector speaks of classes. */
function withClasses(selector: string, classes: ClassSet): string {
	if (classes === 'device') return selector;
	const inner = selector.replace(/^\s*\{|\}\s*$/g, '').trim();
	const matcher = classes === 'all' ? 'cuda_class=~".+"' : `cuda_class="${classes}"`;
	return `{${[inner, matcher].filter(Boolean).join(', ')}}`;
}

interface GpuTimelineProps {
	readonly params: Params;
	readonly data: Awaited<ReturnType<typeof askTimeline>>;
	readonly at: number | null;
	readonly stale: boolean;
}

function GpuTimeline({ params, data, at, stale }: GpuTimelineProps) {
	const { times, lines, marks } = useMemo(() => linesOf(data), [data]);
	const pins = ['A', 'B'].flatMap((name) =>
		params[`pin${name}`] ? [{ name, t: Number(params[`pin${name}`]) }] : [],
	);
	const stacked = params.lines === 'lines' ? 'lines' : 'stacked';
	const lens = readLens(params.lens);
	const seen = useMemo(() => {
		if (!lens) return { times, lines };
		const [from, until] = withinLens(times, lens);
		return {
			times: times.slice(from, until),
			lines: lines.map((line) => ({ ...line, values: line.values.slice(from, until) })),
		};
	}, [times, lines, params.lens]);
	const total = useMemo(() => data.total.map((v) => num(v)), [data]);
	return (
		<div class={`card${stale ? ' stale' : ''}`}>
			<div class="line-head">
				<ul class="legend" aria-label="Lines">
					{lines.map((line) => (
						<li key={line.label}>
							<span class="swatch" style={{ background: line.color }} />
							<bdi>{shortened(line.label, 48)}</bdi>
						</li>
					))}
				</ul>
				<button
					type="button"
					class="plain link"
					onClick={() => change({ lines: stacked === 'stacked' ? 'lines' : null })}>
					{stacked === 'stacked' ? 'as lines' : 'stacked'}
				</button>
			</div>
			<Overview
				times={times}
				values={total}
				lens={lens}
				onLens={(next) =>
					change({ lens: next && `${Math.round(next.from)}-${Math.round(next.until)}` }, 'replace')
				}
			/>
			<Timeline
				title="GPU memory over time"
				times={seen.times}
				lines={seen.lines}
				unit="bytes"
				height={210}
				stacked={stacked}
				marks={marks}
				pins={pins}
				at={params.cfrom ? null : at}
				span={params.cfrom ? { from: Number(params.cfrom), until: Number(params.cuntil) } : null}
				onMoment={(t) => change({ at: String(t), cfrom: null, cuntil: null, peak: null })}
				onRange={(from, to) =>
					change({ cfrom: String(from), cuntil: String(to), at: null, peak: null })
				}
			/>
			<p class="quiet small">
				Click: what was live at that moment. Drag: what changed in that time. ▲ out of memory · ◆ peak
				· ▸ start · ◂ exit
			</p>
		</div>
	);
}

function readLens(text: string | undefined): Lens | null {
	const found = /^(\d+)-(\d+)$/.exec(text ?? '');
	return found ? { from: Number(found[1]), until: Number(found[2]) } : null;
}

function linesOf(data: GpuTimelineProps['data']): { times: number[]; lines: Line[]; marks: Mark[] } {
	const times = data.total.map((_, i) => data.start_ms + i * data.step_ms);
	const numbers = (values: readonly (number | string | null)[]) => values.map((v) => num(v));
	const lines: Line[] = data.series.map((s, i) => ({
		label: labelOf(s.key, s.labels),
		color: LINE_COLORS[i % LINE_COLORS.length]!,
		values: numbers(s.values),
	}));
	if (data.other.some((v) => num(v)))
		lines.push({ label: 'others', color: OTHER_COLOR, values: numbers(data.other) });
	const capacity = num(data.capacity_bytes);
	if (capacity !== null)
		lines.push({
			label: 'capacity',
			color: OTHER_COLOR,
			dash: [6, 4],
			values: times.map(() => capacity),
		});
	const marks = data.markers.map((m) => ({ t: m.t_ms, kind: m.kind, title: m.process }));
	return { times, lines, marks };
}

/** A process is better known by its service and pid than by its id. */
function labelOf(key: string, labels: Readonly<Record<string, string>>): string {
	if (!labels.pid) return key || 'none';
	return `${labels.service_name ?? key} · ${labels.pid}${labels.hostname ? ` @ ${labels.hostname}` : ''}`;
}

export function processTitle(p: Process): string {
	return `${p.labels.service_name ?? 'process'}${p.labels.pid ? ` · ${p.labels.pid}` : ''}`;
}

function NoGpu({ params }: { params: Params }) {
	const range = rangeOf(params);
	return (
		<Empty title="No GPU memory in this time">
			<p>
				Nobody told of any from <code>{range.from}</code> to <code>{range.until}</code>.
			</p>
			<p>
				<button
					type="button"
					class="primary"
					onClick={() => change({ from: 'now-24h', until: 'now', at: null, process: null })}>
					Look at the last {spanText(86400e3)}
				</button>
			</p>
			<FirstSteps />
		</Empty>
	);
}
