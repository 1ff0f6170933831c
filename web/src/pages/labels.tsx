/* One label's values: how much each has, over time. */
import { useEffect, useMemo } from 'preact/hooks';
import { askLabelNames, askSelectSeries, type Series, stepFor } from '../api/querier';
import { useAnswer } from '../state/answer';
import { sideParams } from '../state/baseline';
import { change, linkTo, type Params } from '../state/location';
import { isLive, partsOf } from '../state/profile_type';
import { type Query, readQuery, withValue, writeQuery, writeSelector } from '../state/query_text';
import { asRange, rangeOf, type Timed, useTimed } from '../state/range';
import { format, percent } from '../state/units';
import { LabelChips } from '../ui/label_browser';
import { PageHead } from '../ui/page_head';
import { QueryLine } from '../ui/query_line';
import { Sparkline } from '../ui/sparkline';
import { Empty, Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';
import { LINE_COLORS, Timeline } from '../ui/timeline';
import { filled } from './profile';

const FIRST_LABEL = 'service_name';

export function LabelsPage({ params }: { params: Params }) {
	const timed = useTimed(params);
	const { span } = timed;
	const text = params.query ?? '';
	const read = readQuery(text).query;
	const label = params.label ?? FIRST_LABEL;
	const selector = read ? writeSelector(read.matchers) : '{}';
	const names = useAnswer(read?.type ? `${text}|${span.from}` : null, (signal) =>
		askLabelNames([withType(read!)], span, signal),
	);
	const step = stepFor(span, 60);
	const asked = useAnswer(read?.type ? `${text}|${label}|${span.from}|${span.until}` : null, (signal) =>
		askSelectSeries({ type: read!.type, selector, span, stepSeconds: step, groupBy: [label] }, signal),
	);
	const set = (query: string) => change({ query });
	return (
		<main class="page">
			<PageHead title="Labels" timed={timed} />
			<div class="card controls">
				<QueryLine label="Query" query={text} span={span} onQuery={set} />
				<LabelChips query={text} span={span} onQuery={set} />
				<div class="label-names" role="group" aria-label="Label">
					{(names.data ?? [])
						.filter((n) => !/^__.*__$/.test(n))
						.map((n) => (
							<button
								type="button"
								key={n}
								aria-pressed={n === label}
								onClick={() => change({ label: n })}>
								<bdi>{shortened(n, 60)}</bdi>
							</button>
						))}
				</div>
			</div>
			{!read?.type && (
				<Empty title="Which profile type?">
					<p>Write one in front of the selector, or come from a service.</p>
					<a class="button primary" href={linkTo('', rangeOf(params))}>
						Services
					</a>
				</Empty>
			)}
			<Failure asked={asked} what="the series" />
			{read?.type && !asked.data && <Waiting asked={asked} what="the series" />}
			{read?.type && asked.data && (
				<Breakdown
					series={asked.data}
					label={label}
					read={read}
					step={step}
					timed={timed}
					params={params}
					stale={asked.loading}
				/>
			)}
		</main>
	);
}

const withType = (query: Query) =>
	writeSelector([{ name: '__profile_type__', operator: '=', value: query.type }, ...query.matchers]);

interface ValueRow {
	readonly value: string;
	readonly points: readonly (number | null)[];
	readonly times: readonly number[];
	readonly sum: number; // of a live type the mean: a sum over time means nothing there
	readonly least: number;
	readonly most: number;
	readonly p95: number;
}

export function rowOf(
	series: Series,
	label: string,
	from: number,
	until: number,
	stepMs: number,
	live: boolean,
): ValueRow {
	const points = filled(series.points, from, until, stepMs, live ? null : 0);
	const known = points
		.map((p) => p.value)
		.filter((v): v is number => v !== null)
		.sort((a, b) => a - b);
	const sum = known.reduce((a, b) => a + b, 0);
	return {
		value: series.labels[label] ?? '',
		points: points.map((p) => p.value),
		times: points.map((p) => p.t),
		sum: live && known.length > 0 ? sum / known.length : sum,
		least: known[0] ?? 0,
		most: known[known.length - 1] ?? 0,
		p95: known[Math.max(0, Math.ceil(known.length * 0.95) - 1)] ?? 0,
	};
}

interface BreakdownProps {
	readonly series: readonly Series[];
	readonly label: string;
	readonly read: Query;
	readonly step: number;
	readonly timed: Timed;
	readonly params: Params;
	readonly stale: boolean;
}

const CHARTED = 8;

function Breakdown({ series, label, read, step, timed, params, stale }: BreakdownProps) {
	const { from, until } = timed.span;
	const live = isLive(read.type);
	const { unit } = partsOf(read.type);
	const rows = useMemo(
		() =>
			series.map((s) => rowOf(s, label, from, until, step * 1000, live)).sort((a, b) => b.sum - a.sum),
		[series],
	);
	const charted = useMemo(() => chart(rows.slice(0, CHARTED)), [rows]);
	useEffect(() => {
		if (params.from === undefined) change({ ...rangeOf(params) }, 'replace');
	}, []);
	const total = rows.reduce((sum, row) => sum + row.sum, 0);
	if (rows.length === 0)
		return (
			<Empty title="Nothing matches in this time">
				<button type="button" onClick={() => change({ from: 'now-24h', until: 'now' })}>
					Look at the last 24 hours
				</button>
			</Empty>
		);
	return (
		<>
			<div class={`card${stale ? ' stale' : ''}`}>
				<Timeline
					title={`${label} over time`}
					times={charted.times}
					lines={charted.lines}
					unit={unit}
					height={170}
					onRange={(a, b) => change({ from: String(a), until: String(b) })}
				/>
			</div>
			<div class={`card table-card${stale ? ' stale' : ''}`}>
				<table class="list">
					<thead>
						<tr>
							<th scope="col">{label}</th>
							<th scope="col">Over time</th>
							<th scope="col" class="r">
								{live ? 'Mean' : 'Total'}
							</th>
							<th scope="col" class="r">
								Share
							</th>
							<th scope="col" class="r">
								Least
							</th>
							<th scope="col" class="r">
								Most
							</th>
							<th scope="col" class="r">
								p95
							</th>
							<th scope="col">
								<span class="hidden">Actions</span>
							</th>
						</tr>
					</thead>
					<tbody>
						{rows.map((row, i) => (
							<ValueLine
								key={row.value}
								row={row}
								color={LINE_COLORS[i]}
								unit={unit}
								total={total}
								label={label}
								read={read}
								timed={timed}
							/>
						))}
					</tbody>
				</table>
			</div>
		</>
	);
}

function chart(rows: readonly ValueRow[]) {
	const times = rows.reduce<readonly number[]>(
		(longest, row) => (row.times.length > longest.length ? row.times : longest),
		[],
	);
	const lines = rows.map((row, i) => {
		const at = new Map(row.times.map((t, k) => [t, row.points[k] ?? null]));
		return {
			label: row.value || '(none)',
			color: LINE_COLORS[i]!,
			values: times.map((t) => at.get(t) ?? null),
		};
	});
	return { times, lines };
}

interface ValueLineProps {
	readonly row: ValueRow;
	readonly color: string | undefined;
	readonly unit: string;
	readonly total: number;
	readonly label: string;
	readonly read: Query;
	readonly timed: Timed;
}

function ValueLine({ row, color, unit, total, label, read, timed }: ValueLineProps) {
	const only = withValue(read, label, row.value);
	const without = withValue(read, label, row.value, '!=');
	const range = { ...timed.range };
	const side = { ...asRange(timed.span), at: '' };
	const compare = linkTo('compare', {
		...sideParams('left', { query: writeQuery(only), ...side }),
		...sideParams('right', { query: writeQuery(without), ...side }),
	});
	return (
		<tr>
			<th scope="row">
				{color && <span class="swatch" style={{ background: color }} />}{' '}
				<a href={linkTo('profile', { query: writeQuery(only), ...range })}>
					<bdi>{row.value ? shortened(row.value, 80) : '(none)'}</bdi>
				</a>
			</th>
			<td>
				<Sparkline values={row.points} title={`${shortened(row.value, 40)} over time`} />
			</td>
			<td class="r">{format(row.sum, unit)}</td>
			<td class="r">{percent(row.sum, total)}</td>
			<td class="r">{format(row.least, unit)}</td>
			<td class="r">{format(row.most, unit)}</td>
			<td class="r">{format(row.p95, unit)}</td>
			<td class="r nowrap">
				{row.value && (
					<span class="links">
						<button
							type="button"
							class="plain link"
							onClick={() => change({ query: writeQuery(only) })}>
							only
						</button>
						<button
							type="button"
							class="plain link"
							onClick={() => change({ query: writeQuery(without) })}>
							without
						</button>
						<a href={compare} title="This one beside all others">
							compare
						</a>
					</span>
				)}
			</td>
		</tr>
	);
}
