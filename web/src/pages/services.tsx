/* The first page: who sends profiles, those with GPU memory first. */
import { useEffect, useState } from 'preact/hooks';
import { askServices, type Service } from '../api/server';
import { useAnswer } from '../state/answer';
import { linkTo, type Params } from '../state/location';
import { firstType, GPU_LIVE, partsOf, titleOfType } from '../state/profile_type';
import { rangeOf, useTimed } from '../state/range';
import { ago } from '../state/time';
import { FirstSteps } from '../ui/first_steps';
import { PageHead } from '../ui/page_head';
import { Sparkline } from '../ui/sparkline';
import { Empty, Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';
import { selectorOf } from './shared';

const POLL_MS = 5000;
const FIRST_ROWS = 200;

export function ServicesPage({ params }: { params: Params }) {
	const timed = useTimed(params);
	const [filter, setFilter] = useState('');
	const [more, setMore] = useState(FIRST_ROWS);
	const { from, until } = timed.span;
	const asked = useAnswer(`${from}|${until}`, (signal) => askServices({ from, until }, signal));
	const all = asked.data?.services ?? [];
	const none = asked.data !== null && all.length === 0;
	useEffect(() => {
		if (!none) return;
		const timer = setInterval(timed.again, POLL_MS);
		return () => clearInterval(timer);
	}, [none]);
	const shown = all.filter((s) => s.service_name.toLowerCase().includes(filter.toLowerCase()));
	return (
		<main class="page">
			<PageHead title="Services" timed={timed}>
				{all.length > 0 && (
					<input
						type="search"
						class="filter"
						placeholder="Filter services"
						aria-label="Filter services"
						value={filter}
						onInput={(e) => (setFilter(e.currentTarget.value), setMore(FIRST_ROWS))}
					/>
				)}
			</PageHead>
			<Failure asked={asked} what="services" />
			{!asked.data && <Waiting asked={asked} what="services" />}
			{none && <NothingYet params={params} now={timed.now} />}
			{shown.length > 0 && (
				<ServiceTable
					services={shown.slice(0, more)}
					params={params}
					now={timed.now}
					stale={asked.loading}
				/>
			)}
			{shown.length > more && (
				<button type="button" class="plain pad" onClick={() => setMore(more * 4)}>
					Show more: {(shown.length - more).toLocaleString('en')} services are below
				</button>
			)}
			{all.length > 0 && shown.length === 0 && (
				<Empty title="No service has that in its name">
					<button type="button" onClick={() => setFilter('')}>
						Show all {all.length}
					</button>
				</Empty>
			)}
		</main>
	);
}

/** Nothing in this range is not nothing at all. */
function NothingYet({ params, now }: { params: Params; now: number }) {
	const wide = useAnswer('ever', (signal) =>
		askServices({ from: '1', until: String(now), steps: 1 }, signal),
	);
	const last = Math.max(0, ...(wide.data?.services ?? []).map((s) => s.last_ms));
	if (last > 0) {
		const from = String(last - 3600e3);
		return (
			<Empty title="No profiles in this time">
				<p>The last one came {ago(last, now)}.</p>
				<a class="button primary" href={linkTo('', { ...params, from, until: String(last + 1) })}>
					Show the hour before it
				</a>
			</Empty>
		);
	}
	return (
		<Empty title="No profiles yet">
			<FirstSteps waiting="yes" />
		</Empty>
	);
}

function ServiceTable({
	services,
	params,
	now,
	stale,
}: {
	services: readonly Service[];
	params: Params;
	now: number;
	stale: boolean;
}) {
	return (
		<div class={`card table-card${stale ? ' stale' : ''}`}>
			<table class="list">
				<thead>
					<tr>
						<th scope="col">Service</th>
						<th scope="col">Profiles</th>
						<th scope="col" class="r">
							Last
						</th>
						<th scope="col" class="r">
							Series
						</th>
						<th scope="col">Profile types</th>
					</tr>
				</thead>
				<tbody>
					{services.map((s) => (
						<ServiceRow key={s.service_name} service={s} params={params} now={now} />
					))}
				</tbody>
			</table>
		</div>
	);
}

function ServiceRow({ service: s, params, now }: { service: Service; params: Params; now: number }) {
	const range = rangeOf(params);
	const link = (type: string) =>
		linkTo('profile', { query: type + selectorOf({ service_name: s.service_name }), ...range });
	const gpu = linkTo('gpu', { ...range, selector: selectorOf({ service_name: s.service_name }) });
	const first = s.is_gpu ? gpu : link(firstType(s.profile_types) ?? GPU_LIVE);
	return (
		<tr>
			<th scope="row">
				<a href={first}>
					<bdi>{shortened(s.service_name, 80)}</bdi>
				</a>
				{s.is_gpu && <span class="tag">GPU</span>}
			</th>
			<td>
				<Sparkline values={s.profiles} title={`${s.profiles.reduce((a, b) => a + b, 0)} profiles`} />
			</td>
			<td class="r nowrap" title={new Date(s.last_ms).toISOString()}>
				{ago(s.last_ms, now)}
			</td>
			<td class="r">{s.series.toLocaleString('en')}</td>
			<td class="types">
				{s.is_gpu && (
					<a class="type strong" href={gpu}>
						GPU memory
					</a>
				)}
				<Types types={s.profile_types} link={link} />
			</td>
		</tr>
	);
}

/** What the collector tells beside memory itself is for other pages, and stands behind a button. */
function Types({ types, link }: { types: readonly string[]; link: (type: string) => string }) {
	const [open, setOpen] = useState(false);
	const minor = types.filter((type) => partsOf(type).name.startsWith('gpu_memory'));
	const shown =
		open || minor.length === types.length ? types : types.filter((type) => !minor.includes(type));
	return (
		<>
			{shown.map((type) => (
				<a class="type" key={type} href={link(type)} title={type}>
					{titleOfType(type)}
				</a>
			))}
			{shown.length < types.length && (
				<button type="button" class="type" aria-expanded={false} onClick={() => setOpen(true)}>
					+ {types.length - shown.length}
				</button>
			)}
		</>
	);
}
