/* Two flame graphs side by side; search, focus and frames are those of both. */
import { FlameView } from '../fg/flame_view';
import { useAnswer } from '../state/answer';
import type { Seen, SideName } from '../state/baseline';
import { linkTo, type Params } from '../state/location';
import { readQuery } from '../state/query_text';
import { type Timed, useTimed } from '../state/range';
import { readTime } from '../state/time';
import { format } from '../state/units';
import { PageHead } from '../ui/page_head';
import { Empty, Failure, Waiting } from '../ui/states';
import { askGraph, askSandwichOf, defaultsFor, type Moment, momentKey, sourceOf } from './shared';
import { SideForm } from './side_form';
import { describeSide, readSides } from './sides';

export function ComparePage({ params }: { params: Params }) {
	const timed = useTimed(params);
	const { left, right } = readSides(params);
	return (
		<main class="page">
			<PageHead title="Compare">
				<button type="button" onClick={timed.again}>
					Ask again
				</button>
				<a class="button" href={linkTo('diff', params)}>
					As one diff
				</a>
			</PageHead>
			<div class="sides">
				<Side side="left" title="Before" seen={left} params={params} timed={timed} />
				<Side side="right" title="Now" seen={right} params={params} timed={timed} />
			</div>
		</main>
	);
}

function Side({
	side,
	title,
	seen,
	params,
	timed,
}: {
	side: SideName;
	title: string;
	seen: Seen;
	params: Params;
	timed: Timed;
}) {
	const { now } = timed;
	const span = { from: readTime(seen.from, now) ?? now - 3600e3, until: readTime(seen.until, now) ?? now };
	const moment: Moment = { query: seen.query, span, at: seen.at ? readTime(seen.at, now) : null, params };
	const ready = Boolean(readQuery(seen.query).query?.type);
	const asked = useAnswer(ready ? momentKey(moment) : null, askGraph(moment));
	return (
		<div class="side-column">
			<SideForm side={side} title={title} seen={seen} span={timed.span} now={now} />
			{!ready && (
				<Empty title="Which query?">
					<p>Write one above, or mark a view as baseline.</p>
				</Empty>
			)}
			<Failure asked={asked} what={title} />
			{ready && !asked.data && <Waiting asked={asked} what={title} />}
			{asked.data && (
				<div class="card">
					<FlameView
						graph={asked.data}
						title={`${title}: ${seen.query}`}
						loading={asked.loading}
						canLimit="yes"
						source={sourceOf(moment)}
						askSandwich={askSandwichOf(moment)}
						defaults={defaultsFor(seen.query)}>
						<p class="moment">
							<strong>{format(asked.data.total, asked.data.unit)}</strong>{' '}
							<span class="quiet">{describeSide(seen, now)}</span>
						</p>
					</FlameView>
				</div>
			)}
		</div>
	);
}
