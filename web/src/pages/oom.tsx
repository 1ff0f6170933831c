/* Calls that found no memory, the newest first; one of them with all that is known of it. */
import { useState } from 'preact/hooks';
import { askOoms, num, type Oom } from '../api/gpu';
import { useAnswer } from '../state/answer';
import { linkTo, type Params } from '../state/location';
import { rangeOf, useTimed } from '../state/range';
import { ago, stamp } from '../state/time';
import { exact, format } from '../state/units';
import { PageHead } from '../ui/page_head';
import { Empty, Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';
import { Stack } from './gpu_growth';
import { OomDetail } from './oom_detail';

export function OomPage({ params }: { params: Params }) {
	return params.id ? <OomDetail params={params} id={params.id} /> : <OomList params={params} />;
}

const PAGE = 20;

function OomList({ params }: { params: Params }) {
	const timed = useTimed({ from: 'now-24h', until: 'now', ...params });
	const { from, until } = timed.span;
	const [cursors, setCursors] = useState<readonly string[]>([]);
	const cursor = cursors[cursors.length - 1] ?? '';
	const question = {
		from: Math.round(from),
		until: Math.round(until),
		selector: params.selector,
		limit: PAGE,
		cursor,
	};
	const asked = useAnswer(JSON.stringify(question), (signal) => askOoms(question, signal));
	const events = asked.data?.events ?? [];
	const { next } = asked.data ?? { next: null };
	return (
		<main class="page">
			<PageHead title="OOM events" timed={timed} />
			<Failure asked={asked} what="OOM events" />
			{!asked.data && <Waiting asked={asked} what="OOM events" />}
			{asked.data && events.length === 0 && (
				<Empty title="No call ran out of memory in this time">
					<p>
						An event comes when a CUDA call returns <code>CUDA_ERROR_OUT_OF_MEMORY</code>: with
						the call's stack, and all that was live then.
					</p>
					<a class="button" href={linkTo('oom', { from: 'now-30d', until: 'now' })}>
						Look at the last 30 days
					</a>{' '}
					<a class="button" href={linkTo('gpu', rangeOf(params))}>
						GPU memory
					</a>
				</Empty>
			)}
			{events.length > 0 && (
				<div class={`card table-card${asked.loading ? ' stale' : ''}`}>
					<table class="list ooms">
						<thead>
							<tr>
								<th scope="col">Time</th>
								<th scope="col">Process</th>
								<th scope="col">GPU</th>
								<th scope="col" class="r">
									Asked for
								</th>
								<th scope="col" class="r">
									Live
								</th>
								<th scope="col" class="r">
									Device
								</th>
								<th scope="col">Largest stacks then</th>
							</tr>
						</thead>
						<tbody>
							{events.map((e) => (
								<OomRow key={e.id} e={e} params={params} now={timed.now} />
							))}
						</tbody>
					</table>
				</div>
			)}
			<p>
				{cursors.length > 0 && (
					<button type="button" onClick={() => setCursors(cursors.slice(0, -1))}>
						Newer
					</button>
				)}{' '}
				{next && (
					<button type="button" onClick={() => setCursors([...cursors, next])}>
						Older
					</button>
				)}
			</p>
		</main>
	);
}

function OomRow({ e, params, now }: { e: Oom; params: Params; now: number }) {
	const bytes = (value: number | string | null) =>
		num(value) === null ? '–' : format(num(value)!, 'bytes');
	const title = (value: number | string | null) =>
		num(value) === null ? 'not known' : exact(num(value)!, 'bytes');
	return (
		<tr>
			<th scope="row">
				<a href={linkTo('oom', { ...params, id: e.id })}>{stamp(e.time_ms)}</a>
				<div class="quiet small">{ago(e.time_ms, now)}</div>
			</th>
			<td>
				<bdi>{shortened(e.labels.service_name ?? '', 60)}</bdi>
				{e.labels.pid && <span class="quiet"> · {e.labels.pid}</span>}
				{e.recovered && (
					<span
						class="tag"
						title="within a second it got as much: an allocator gave its cache back">
						recovered
					</span>
				)}
				<div class="quiet small">
					<bdi>
						{shortened(
							['hostname', 'k8s_namespace', 'k8s_podName', 'k8s_containerName', 'proc_comm']
								.map((n) => e.labels[n])
								.filter(Boolean)
								.join(' · '),
							100,
						)}
					</bdi>
				</div>
				<div class="quiet small">{e.cuda_error}</div>
			</td>
			<td>{e.gpu}</td>
			<td class="r bad" title={title(e.requested_bytes)}>
				{bytes(e.requested_bytes)}
			</td>
			<td class="r" title={title(e.live_bytes)}>
				{bytes(e.live_bytes)}
			</td>
			<td class="r">
				{e.device_total_bytes === null ? (
					'–'
				) : (
					<>
						{bytes(e.device_used_bytes)}
						<div class="quiet small">of {bytes(e.device_total_bytes)}</div>
					</>
				)}
			</td>
			<td>
				{e.top.slice(0, 3).map((t, i) => (
					<div class="held" key={i}>
						<strong>{bytes(t.bytes)}</strong> <Stack stack={t.stack} />
					</div>
				))}
			</td>
		</tr>
	);
}
