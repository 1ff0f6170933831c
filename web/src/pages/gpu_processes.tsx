/* The processes that hold GPU memory: how much, since when, and which of them grow. */
import { useState } from 'preact/hooks';
import { num, type Process, type Processes } from '../api/gpu';
import { change } from '../state/location';
import { clock, type Span, span as spanText, stamp } from '../state/time';
import { exact, format, formatChange, percent } from '../state/units';
import { shortened } from '../ui/text';

interface Column {
	readonly key: string;
	readonly title: string;
	readonly hint: string;
	readonly value: (p: Process) => number | null;
}

const COLUMNS: readonly Column[] = [
	{
		key: 'live',
		title: 'Live',
		hint: 'device memory at the moment shown',
		value: (p) => num(p.live_bytes),
	},
	{ key: 'peak', title: 'Peak', hint: 'highest point of the range', value: (p) => num(p.peak_bytes) },
	{
		key: 'growth',
		title: 'Growth',
		hint: 'live now less live when the range began',
		value: (p) => num(p.growth_bytes),
	},
	{
		key: 'alloc',
		title: 'Allocated',
		hint: 'in the range; below it a second',
		value: (p) => num(p.alloc_bytes),
	},
	{
		key: 'freed',
		title: 'Freed',
		hint: 'in the range; below it a second',
		value: (p) => num(p.freed_bytes),
	},
	{ key: 'blocks', title: 'Blocks', hint: 'live allocations', value: (p) => num(p.live_blocks) },
	{ key: 'failures', title: 'Failures', hint: 'calls that got no memory', value: (p) => num(p.failures) },
];

interface TableProps {
	readonly data: Processes;
	readonly chosen: Process | null;
	readonly span: Span;
	readonly stale: boolean;
}

export function ProcessTable({ data, chosen, span, stale }: TableProps) {
	const [key, setKey] = useState('live');
	const column = COLUMNS.find((c) => c.key === key)!;
	const rows = [...data.processes].sort((a, b) => (column.value(b) ?? -1) - (column.value(a) ?? -1));
	const live = rows.reduce((sum, p) => sum + (num(p.live_bytes) ?? 0), 0);
	return (
		<div class={`card table-card${stale ? ' stale' : ''}`}>
			<table class="list processes">
				<caption>
					Processes
					{data.tick_ms !== null && (
						<span class="quiet"> as of the tick of {clock(data.tick_ms)}</span>
					)}
					{chosen && (
						<button type="button" class="plain link" onClick={() => change({ process: null })}>
							all processes
						</button>
					)}
				</caption>
				<thead>
					<tr>
						<th scope="col">Process</th>
						{COLUMNS.map((c) => (
							<th
								scope="col"
								class="r"
								key={c.key}
								aria-sort={c.key === key ? 'descending' : 'none'}>
								<button
									type="button"
									class="plain sort"
									title={c.hint}
									onClick={() => setKey(c.key)}>
									{c.title}
									<span class="arrow" aria-hidden="true">
										{c.key === key ? '▾' : ''}
									</span>
								</button>
							</th>
						))}
					</tr>
				</thead>
				<tbody>
					{rows.map((p) => (
						<ProcessRow key={p.id} p={p} chosen={p.id === chosen?.id} live={live} span={span} />
					))}
				</tbody>
			</table>
			{rows.length === 0 && <p class="quiet pad">No process in this time.</p>}
			<Devices data={data} />
		</div>
	);
}

function ProcessRow({ p, chosen, live, span }: { p: Process; chosen: boolean; live: number; span: Span }) {
	const seconds = Math.max(1, (span.until - span.from) / 1000);
	const rate = (value: number | null) => (value === null ? null : `${format(value / seconds, 'bytes')}/s`);
	const held = num(p.live_bytes) ?? 0;
	return (
		<tr class={chosen ? 'chosen' : ''}>
			<th scope="row">
				<button
					type="button"
					class="plain name"
					aria-pressed={chosen}
					onClick={() => change({ process: chosen ? null : p.id, focus: null, sandwich: null })}>
					<bdi>{shortened(p.labels.service_name ?? p.id, 60)}</bdi>
					{p.labels.pid && <span class="quiet"> · {p.labels.pid}</span>}
				</button>
				<span class={`state ${p.state}`}>{p.state}</span>
				<LeakHint p={p} />
				<div class="quiet small">
					<bdi>
						{shortened(
							[
								p.labels.hostname,
								p.labels.k8s_namespace,
								p.labels.k8s_podName,
								p.labels.proc_comm,
							]
								.filter(Boolean)
								.join(' · '),
							100,
						)}
					</bdi>
				</div>
			</th>
			<td class="r" title={title(held)}>
				<strong>{format(held, 'bytes')}</strong>
				<div class="quiet small">{percent(held, live)}</div>
			</td>
			<td class="r" title={title(num(p.peak_bytes))}>
				{text(num(p.peak_bytes))}
				{p.peak_ms !== null && (
					<div>
						<button
							type="button"
							class="plain link small"
							title={`What was live at ${stamp(p.peak_ms)}`}
							onClick={() =>
								change({
									at: String(p.peak_ms),
									process: p.id,
									peak: '1',
									cfrom: null,
									cuntil: null,
								})
							}>
							◆ {clock(p.peak_ms)}
						</button>
					</div>
				)}
			</td>
			<td class={`r ${sign(num(p.growth_bytes))}`} title={title(num(p.growth_bytes))}>
				{num(p.growth_bytes) === null ? '–' : formatChange(num(p.growth_bytes)!, 'bytes')}
			</td>
			<td class="r" title={title(num(p.alloc_bytes))}>
				{text(num(p.alloc_bytes))}
				<div class="quiet small">{rate(num(p.alloc_bytes))}</div>
			</td>
			<td class="r" title={title(num(p.freed_bytes))}>
				{text(num(p.freed_bytes))}
				<div class="quiet small">{rate(num(p.freed_bytes))}</div>
			</td>
			<td class="r">{(num(p.live_blocks) ?? 0).toLocaleString('en')}</td>
			<td class={`r ${num(p.failures) ? 'bad' : ''}`}>{(num(p.failures) ?? 0).toLocaleString('en')}</td>
		</tr>
	);
}

const title = (value: number | null) => (value === null ? '' : exact(value, 'bytes'));
const text = (value: number | null) => (value === null ? '–' : format(value, 'bytes'));
const sign = (value: number | null) => (value === null || value === 0 ? '' : value > 0 ? 'grown' : 'shrunk');

const LEAK_SHARE = 0.05;

/** Memory that grew, and of which little of what came was given back. */
function LeakHint({ p }: { p: Process }) {
	const [growth, alloc, live] = [num(p.growth_bytes) ?? 0, num(p.alloc_bytes) ?? 0, num(p.live_bytes) ?? 0];
	const young = p.last_ms - p.first_ms < 60e3;
	if (p.state !== 'running' || young || growth <= 0 || growth < live * LEAK_SHARE || growth < alloc * 0.5)
		return null;
	return (
		<button
			type="button"
			class="tag warn"
			title={`${formatChange(growth, 'bytes')} in this range, ${percent(growth, alloc)} of what it allocated: see which stacks grow`}
			onClick={() => change({ process: p.id, tab: 'growth' })}>
			grows
		</button>
	);
}

function Devices({ data }: { data: Processes }) {
	if (!data.devices || data.devices.length === 0) return null;
	return (
		<ul class="devices" aria-label="Devices">
			{data.devices.map((d) => {
				const [used, total, seen] = [num(d.used_bytes), num(d.total_bytes), num(d.live_bytes) ?? 0];
				return (
					<li key={`${d.hostname}/${d.gpu}`}>
						<span>
							<bdi>{shortened(d.hostname, 40)}</bdi> GPU {d.gpu}
						</span>
						<meter
							min={0}
							max={total ?? 1}
							value={used ?? seen}
							aria-label={`GPU ${d.gpu} of ${d.hostname}`}
						/>
						<span class="quiet">
							{used === null
								? `${format(seen, 'bytes')} seen`
								: `${format(used, 'bytes')} used, ${format(seen, 'bytes')} of it seen`}
							{total !== null && ` of ${format(total, 'bytes')}`}
						</span>
					</li>
				);
			})}
		</ul>
	);
}

export const lifeOf = (p: Process) => spanText(p.last_ms - p.first_ms);
