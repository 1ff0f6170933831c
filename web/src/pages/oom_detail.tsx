/* One call that found no memory: what it wanted, who held what, and how it came to that. */
import { useMemo } from 'preact/hooks';
import { askFlamegraph } from '../api/flamegraph';
import { askOom, askTimeline, num, type Oom } from '../api/gpu';
import { FlameView, GPU } from '../fg/flame_view';
import { useAnswer } from '../state/answer';
import { sideParams } from '../state/baseline';
import { linkTo, type Params } from '../state/location';
import { stamp } from '../state/time';
import { exact, format, percent } from '../state/units';
import { PageHead } from '../ui/page_head';
import { Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';
import { LINE_COLORS, Timeline } from '../ui/timeline';
import { Stack } from './gpu_growth';
import { liveQuery } from './gpu_query';
import { selectorOf } from './shared';

const AROUND_MS = 10 * 60e3;
const BEFORE_MS = 5 * 60e3;

export function OomDetail({ params, id }: { params: Params; id: string }) {
	const asked = useAnswer(id, (signal) => askOom(id, signal));
	const back = linkTo(
		'oom',
		Object.fromEntries(
			Object.entries(params).filter(([name]) => ['from', 'until', 'selector'].includes(name)),
		),
	);
	return (
		<main class="page">
			<PageHead
				title={
					<>
						<a href={back}>OOM events</a> / {asked.data ? stamp(asked.data.time_ms) : '…'}
					</>
				}
			/>
			<Failure asked={asked} what="the event" />
			{!asked.data && <Waiting asked={asked} what="the event" />}
			{asked.data && <Detail e={asked.data} params={params} />}
		</main>
	);
}

function Detail({ e, params }: { e: Oom; params: Params }) {
	const node = selectorOf({ hostname: e.labels.hostname ?? '' });
	const query = liveQuery(node, 'device');
	const before = linkTo('diff', {
		...sideParams('left', { query, from: '', until: '', at: String(e.time_ms - BEFORE_MS) }),
		...sideParams('right', { query, from: '', until: '', at: String(e.time_ms) }),
	});
	return (
		<>
			<div class="card facts-card">
				<Facts e={e} />
				<div>
					<h2>The call that failed</h2>
					<Stack stack={e.stack} />
				</div>
			</div>
			<Around e={e} selector={node} />
			<p class="actions">
				<a class="button primary" href={before}>
					Diff with 5 minutes before
				</a>{' '}
				<a
					class="button"
					href={linkTo('gpu', {
						at: String(e.time_ms),
						from: String(e.time_ms - AROUND_MS * 3),
						until: String(e.time_ms + AROUND_MS),
						selector: node,
					})}>
					GPU memory at that time
				</a>
			</p>
			<Held e={e} params={params} />
			<Holders e={e} />
		</>
	);
}

function Facts({ e }: { e: Oom }) {
	const [used, total] = [num(e.device_used_bytes), num(e.device_total_bytes)];
	const bytes = (value: number | null) =>
		value === null ? 'not known' : <span title={exact(value, 'bytes')}>{format(value, 'bytes')}</span>;
	const rows: [string, preact.ComponentChildren][] = [
		[
			'Process',
			<>
				<bdi>{shortened(e.labels.service_name ?? '', 80)}</bdi> · {e.labels.pid} @{' '}
				<bdi>{shortened(e.labels.hostname ?? '', 60)}</bdi>
			</>,
		],
		...(e.labels.k8s_podName
			? [
					[
						'Pod',
						<bdi>
							{shortened(
								[e.labels.k8s_namespace, e.labels.k8s_podName, e.labels.k8s_containerName]
									.filter(Boolean)
									.join(' / '),
								160,
							)}
						</bdi>,
					] as [string, preact.ComponentChildren],
				]
			: []),
		['Error', <code>{e.cuda_error}</code>],
		['Asked for', <strong class="bad">{bytes(num(e.requested_bytes))}</strong>],
		['Live then', bytes(num(e.live_bytes))],
		[
			`GPU ${e.gpu}`,
			used !== null && total !== null ? (
				<>
					{bytes(used)} of {bytes(total)} used ({percent(used, total)}), {bytes(total - used)} free
				</>
			) : (
				'not known'
			),
		],
		[
			'Afterwards',
			e.recovered
				? 'within a second it got as much: an allocator gave its cache back'
				: 'it did not get it',
		],
	];
	return (
		<dl class="facts">
			{rows.map(([name, value]) => (
				<div key={name}>
					<dt>{name}</dt>
					<dd>{value}</dd>
				</div>
			))}
		</dl>
	);
}

function Around({ e, selector }: { e: Oom; selector: string }) {
	const question = {
		from: e.time_ms - AROUND_MS,
		until: Math.min(e.time_ms + AROUND_MS, Date.now()),
		selector,
		by: 'process',
		top: 8,
		step: '15s',
	};
	const asked = useAnswer(JSON.stringify(question), (signal) => askTimeline(question, signal));
	const shown = useMemo(
		() =>
			asked.data && {
				times: asked.data.total.map((_, i) => asked.data!.start_ms + i * asked.data!.step_ms),
				lines: asked.data.series.map((s, i) => ({
					label: `${s.labels.service_name ?? s.key} · ${s.labels.pid ?? ''}`,
					color: LINE_COLORS[i]!,
					values: s.values.map((v) => num(v)),
				})),
				marks: asked.data.markers.map((m) => ({ t: m.t_ms, kind: m.kind, title: m.process })),
			},
		[asked.data],
	);
	return (
		<div class="card">
			<Failure asked={asked} what="the timeline" />
			{shown && (
				<Timeline
					title="GPU memory around the event"
					times={shown.times}
					lines={shown.lines}
					marks={shown.marks}
					unit="bytes"
					height={150}
					stacked="stacked"
					at={e.time_ms}
				/>
			)}
		</div>
	);
}

/** All that was live at the event: profiles of the same node and time. */
function Held({ e, params }: { e: Oom; params: Params }) {
	const gpu: Record<string, string> = /^\d+$/.test(e.gpu) ? { gpu: e.gpu } : {};
	const query = `gpu_memory_peak:peak_space:bytes:space:bytes${selectorOf({ hostname: e.labels.hostname ?? '', reason: 'oom', ...gpu })}`;
	const question = { query, from: e.time_ms, until: e.time_ms, maxNodes: params.maxNodes ?? '8192' };
	const asked = useAnswer(JSON.stringify(question), (signal) => askFlamegraph(question, signal));
	return (
		<div class="card">
			<Failure asked={asked} what="what was live" />
			{!asked.data && <Waiting asked={asked} what="what was live" />}
			{asked.data && (
				<FlameView
					graph={asked.data}
					title={`GPU memory live at the OOM of ${stamp(e.time_ms)}`}
					defaults={GPU}
					canLimit="yes"
					loading={asked.loading}
					source={{
						query,
						from: e.time_ms,
						until: e.time_ms,
						at: null,
						route: 'api/v1/flamegraph',
						parameters: question,
					}}>
					<p class="moment">
						<span>
							All that was live at <strong>{stamp(e.time_ms)}</strong>, when{' '}
							{format(num(e.requested_bytes) ?? 0, 'bytes')} more were wanted
						</span>
					</p>
				</FlameView>
			)}
		</div>
	);
}

function Holders({ e }: { e: Oom }) {
	if (!e.processes || e.processes.length === 0) return null;
	return (
		<div class="card table-card">
			<table class="list">
				<caption>Who held it</caption>
				<thead>
					<tr>
						<th scope="col">Process</th>
						<th scope="col" class="r">
							Live
						</th>
						<th scope="col" class="r">
							Share
						</th>
						<th scope="col">Largest stacks</th>
					</tr>
				</thead>
				<tbody>
					{e.processes.map((p) => (
						<tr key={p.id}>
							<th scope="row">
								<bdi>{shortened(p.labels.service_name ?? p.id, 60)}</bdi>{' '}
								<span class="quiet">· {p.labels.pid}</span>
							</th>
							<td class="r" title={exact(num(p.live_bytes) ?? 0, 'bytes')}>
								{format(num(p.live_bytes) ?? 0, 'bytes')}
							</td>
							<td class="r">{percent(num(p.live_bytes) ?? 0, num(e.live_bytes) ?? 0)}</td>
							<td>
								{p.top.slice(0, 5).map((t, i) => (
									<div class="held" key={i}>
										<strong>{format(num(t.bytes) ?? 0, 'bytes')}</strong>{' '}
										<Stack stack={t.stack} />
									</div>
								))}
							</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}
