/* One query: over time, and what it holds. */
import { useEffect } from 'preact/hooks';
import { askServices, type Services } from '../api/server';
import { askSelectSeries, stepFor } from '../api/querier';
import { FlameView } from '../fg/flame_view';
import { useAnswer } from '../state/answer';
import { change, linkTo, type Params } from '../state/location';
import { firstType, isLive, partsOf, titleOfType } from '../state/profile_type';
import { type Query, readQuery, valueOf, withValue, writeQuery, writeSelector } from '../state/query_text';
import { asRange, rangeOf, type Timed, useTimed } from '../state/range';
import { ago, stamp } from '../state/time';
import { LabelChips } from '../ui/label_browser';
import { PageHead } from '../ui/page_head';
import { QueryLine } from '../ui/query_line';
import { Empty, Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';
import { LINE_COLORS, Timeline } from '../ui/timeline';
import { useMemo } from 'preact/hooks';
import { askGraph, askSandwichOf, defaultsFor, momentKey, sourceOf } from './shared';

export function ProfilePage({ params }: { params: Params }) {
	const timed = useTimed(params);
	const { span } = timed;
	const services = useAnswer(`${span.from}|${span.until}`, (signal) =>
		askServices({ ...asRange(span), steps: 1 }, signal),
	);
	const text = params.query ?? '';
	const set = (query: string) => change({ query, focus: null, sandwich: null, hide: null });
	useEffect(() => {
		if (!text && services.data) chooseFirst(services.data);
	}, [text, services.data]);
	const read = readQuery(text).query;
	const at = params.at ? Number(params.at) : null;
	return (
		<main class="page">
			<PageHead
				title="Profile"
				timed={timed}
				clears={['at']}
				seen={text ? { query: text, ...asRange(span), at: params.at ?? '' } : null}
			/>
			<div class="card controls">
				<Selects query={read ?? { type: '', matchers: [] }} services={services.data} onQuery={set} />
				<QueryLine label="Query" query={text} span={span} onQuery={set} />
				<LabelChips query={text} span={span} onQuery={set} />
			</div>
			<Failure asked={services} what="services" />
			{!text && services.data?.services.length === 0 && (
				<Empty title="No profiles in this time">
					<a class="button primary" href={linkTo('', rangeOf(params))}>
						What to do
					</a>
				</Empty>
			)}
			{read && read.type && (
				<Shown
					params={params}
					timed={timed}
					read={read}
					text={text}
					at={at}
					services={services.data}
				/>
			)}
			{read && !read.type && text && (
				<Empty title="Which profile type?">
					<p>Put one in front of the selector, or choose it above.</p>
				</Empty>
			)}
		</main>
	);
}

function chooseFirst(services: Services): void {
	const first = services.services[0];
	const type = first && firstType(first.profile_types);
	if (first && type)
		change(
			{ query: writeQuery(withValue({ type, matchers: [] }, 'service_name', first.service_name)) },
			'replace',
		);
}

function Selects({
	query,
	services,
	onQuery,
}: {
	query: Query;
	services: Services | null;
	onQuery: (query: string) => void;
}) {
	const service = valueOf(query, 'service_name');
	const all = services?.services ?? [];
	const known = all.find((s) => s.service_name === service);
	const types = known?.profile_types ?? [...new Set(all.flatMap((s) => s.profile_types))].sort();
	const names = all.map((s) => s.service_name);
	const toService = (name: string) => {
		const next = all.find((s) => s.service_name === name);
		const type =
			next && !next.profile_types.includes(query.type)
				? (next.profile_types[0] ?? query.type)
				: query.type;
		onQuery(writeQuery(withValue({ ...query, type }, 'service_name', name)));
	};
	return (
		<div class="selects">
			<label>
				Service
				<select value={service} onChange={(e) => toService(e.currentTarget.value)}>
					<option value="">all services</option>
					{service && !names.includes(service) && (
						<option value={service}>{shortened(service, 80)}</option>
					)}
					{names.slice(0, 5000).map((name) => (
						<option value={name} key={name}>
							{shortened(name, 80)}
						</option>
					))}
				</select>
			</label>
			<label>
				Profile type
				<select
					value={query.type}
					onChange={(e) => onQuery(writeQuery({ ...query, type: e.currentTarget.value }))}>
					{!types.includes(query.type) && (
						<option value={query.type}>
							{query.type ? shortened(query.type, 80) : 'choose'}
						</option>
					)}
					{types.map((type) => (
						<option value={type} key={type}>{`${titleOfType(type)} — ${type}`}</option>
					))}
				</select>
			</label>
		</div>
	);
}

interface ShownProps {
	readonly params: Params;
	readonly timed: Timed;
	readonly read: Query;
	readonly text: string;
	readonly at: number | null;
	readonly services: Services | null;
}

function Shown({ params, timed, read, text, at, services }: ShownProps) {
	const { span } = timed;
	const selector = writeSelector(read.matchers);
	const step = stepFor(span);
	const series = useAnswer(`${text}|${span.from}|${span.until}`, (signal) =>
		askSelectSeries({ type: read.type, selector, span, stepSeconds: step }, signal),
	);
	const moment = { query: text, span, at, params };
	const asked = useAnswer(momentKey(moment), askGraph(moment));
	const live = isLive(read.type);
	const points = series.data?.[0]?.points ?? [];
	const { times, lines } = useMemo(() => {
		const values = filled(points, span.from, span.until, step * 1000, live ? null : 0);
		return {
			times: values.map((v) => v.t),
			lines: [
				{ label: titleOfType(read.type), color: LINE_COLORS[0]!, values: values.map((v) => v.value) },
			],
		};
	}, [series.data]);
	useEffect(() => {
		if (asked.data && (params.from === undefined || params.until === undefined))
			change({ ...rangeOf(params) }, 'replace');
	}, [asked.data]);
	const unit = asked.data?.unit ?? partsOf(read.type).unit;
	return (
		<>
			<div class={`card${series.loading ? ' stale' : ''}`}>
				<Timeline
					title={`${titleOfType(read.type)} over time`}
					times={times}
					lines={lines}
					unit={unit}
					height={150}
					at={at}
					onRange={(from, until) => change({ from: String(from), until: String(until), at: null })}
					onMoment={live ? (t) => change({ at: String(t) }) : undefined}
				/>
				<p class="quiet small">
					{live ? 'Drag: this range. Click: what was live at that moment.' : 'Drag: this range.'}
				</p>
			</div>
			<Failure asked={asked} what="the flame graph" />
			{!asked.error && <Failure asked={series} what="the values over time" />}
			{!asked.data && <Waiting asked={asked} what="the flame graph" />}
			{asked.data && asked.data.total === 0 && asked.data.tree.size <= 1 && !asked.loading ? (
				<NothingHere query={read} params={params} services={services} now={timed.now} />
			) : (
				asked.data && (
					<div class="card">
						<FlameView
							graph={asked.data}
							title={text}
							loading={asked.loading}
							defaults={defaultsFor(text)}
							canLimit="yes"
							source={sourceOf(moment)}
							askSandwich={askSandwichOf(moment)}>
							{at !== null && <MomentLine at={at} tickMs={asked.data.side.tickMs} />}
						</FlameView>
					</div>
				)
			)}
		</>
	);
}

export function MomentLine({ at, tickMs }: { at: number; tickMs: number | null }) {
	return (
		<p class="moment">
			<span>
				Live at <strong>{stamp(at)}</strong>
			</span>
			{tickMs !== null ? (
				<span class="quiet"> by the tick of {stamp(tickMs)}</span>
			) : (
				<span class="warn"> nothing is known of that moment</span>
			)}
			<button type="button" class="plain link" onClick={() => change({ at: null })}>
				show the whole range
			</button>
		</p>
	);
}

interface Point {
	readonly t: number;
	readonly value: number | null;
}

/** A point for each step; where the server has none stands `absent`. */
export function filled(
	points: readonly { t: number; value: number }[],
	from: number,
	until: number,
	stepMs: number,
	absent: number | null,
): Point[] {
	const first = points[0];
	if (!first)
		return [
			{ t: from, value: absent },
			{ t: until, value: absent },
		];
	const known = new Map(points.map((p) => [p.t, p.value]));
	const begin = first.t - Math.floor((first.t - from) / stepMs) * stepMs;
	const all: Point[] = [];
	for (let t = begin; t <= until + stepMs; t += stepMs) all.push({ t, value: known.get(t) ?? absent });
	return all;
}

/** Says which of the matchers took everything away, and where there is something. */
function NothingHere({
	query,
	params,
	services,
	now,
}: {
	query: Query;
	params: Params;
	services: Services | null;
	now: number;
}) {
	const service = valueOf(query, 'service_name');
	const known = services?.services.find((s) => s.service_name === service);
	const others = query.matchers.filter((m) => !(m.name === 'service_name' && m.operator === '='));
	const set = (q: Query) => change({ query: writeQuery(q) });
	return (
		<Empty title="Nothing matches in this time">
			{service && services && !known && (
				<p>
					The service <code>{shortened(service, 80)}</code> sent nothing in this time.
				</p>
			)}
			{known && !known.profile_types.includes(query.type) && (
				<p>
					It sends no <code>{query.type}</code>. It has:{' '}
					{known.profile_types.map((type) => (
						<button type="button" class="type" key={type} onClick={() => set({ ...query, type })}>
							{titleOfType(type)}
						</button>
					))}
				</p>
			)}
			{known && known.profile_types.includes(query.type) && others.length > 0 && (
				<p>
					Without one of these there may be more:{' '}
					{others.map((m) => (
						<button
							type="button"
							class="type"
							key={m.name + m.value}
							onClick={() =>
								set({ ...query, matchers: query.matchers.filter((o) => o !== m) })
							}>
							{m.name}
							{m.operator}"{shortened(m.value, 40)}" ✕
						</button>
					))}
				</p>
			)}
			{known && <p>Its last profile came {ago(known.last_ms, now)}.</p>}
			<p>
				<button type="button" onClick={() => change({ from: 'now-24h', until: 'now', at: null })}>
					Look at the last 24 hours
				</button>{' '}
				<a class="button" href={linkTo('', rangeOf(params))}>
					All services
				</a>
			</p>
		</Empty>
	);
}
