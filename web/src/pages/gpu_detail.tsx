/* Below the timeline: live at a moment, change over a range, growth by stack. */
import { askDiff, askFlamegraph, type Graph } from '../api/flamegraph';
import type { Process } from '../api/gpu';
import { FlameView, GPU } from '../fg/flame_view';
import { useAnswer } from '../state/answer';
import { change, linkTo, type Params } from '../state/location';
import { GPU_ALLOCATED } from '../state/profile_type';
import { sideParams } from '../state/baseline';
import { clock, type Span, span as spanText, stamp } from '../state/time';
import { Failure, Waiting } from '../ui/states';
import { GrowthTable } from './gpu_growth';
import { ofType, peakQuery } from './gpu_query';
import { askSandwichOf, flameQuery, type Moment, momentKey, sourceOf } from './shared';

interface DetailProps {
	readonly params: Params;
	readonly at: number; // the moment that is shown
	readonly query: string;
	readonly selector: string;
	readonly chosen: Process | null;
	readonly span: Span;
}

export function GpuDetail(p: DetailProps) {
	const { params } = p;
	const changing = params.cfrom !== undefined && params.cuntil !== undefined;
	const growing = params.tab === 'growth';
	return (
		<div class="card">
			<div class="tabs" role="tablist" aria-label="What is shown">
				<button
					type="button"
					role="tab"
					aria-selected={!changing && !growing}
					onClick={() => change({ tab: null, cfrom: null, cuntil: null })}>
					Live at a moment
				</button>
				<button
					type="button"
					role="tab"
					aria-selected={changing && !growing}
					onClick={() =>
						change({
							tab: null,
							...(changing ? {} : wholeRange({ from: p.span.from, until: p.at })),
						})
					}>
					Change over a time
				</button>
				<button
					type="button"
					role="tab"
					aria-selected={growing}
					onClick={() => change({ tab: 'growth' })}>
					Growth by stack
				</button>
			</div>
			{growing ? (
				<GrowthTable
					selector={p.selector}
					process={p.chosen?.id ?? ''}
					span={changing ? changeSpan(params) : { from: p.span.from, until: p.at }}
				/>
			) : changing ? (
				<Change {...p} />
			) : (
				<Live {...p} />
			)}
		</div>
	);
}

const wholeRange = (span: Span) => ({
	cfrom: String(Math.round(span.from)),
	cuntil: String(Math.round(span.until)),
	at: null,
});
const changeSpan = (params: Params): Span => ({ from: Number(params.cfrom), until: Number(params.cuntil) });

function Live({ params, at, query, chosen, span }: DetailProps) {
	const moment: Moment = { query, span, at, params };
	const peak = params.peak === '1' && chosen ? chosen : null;
	const asked = useAnswer(momentKey(moment) + (peak ? `|${peak.id}` : ''), (signal) =>
		askLive(moment, peak, signal),
	);
	const shown = asked.data;
	return (
		<>
			<Failure asked={asked} what="what was live" />
			{!shown && <Waiting asked={asked} what="what was live" />}
			{shown && (
				<FlameView
					graph={shown.graph}
					title={`GPU memory live at ${stamp(at)}`}
					loading={asked.loading}
					defaults={GPU}
					canLimit="yes"
					source={sourceOf(moment)}
					askSandwich={askSandwichOf(moment)}>
					<p class="moment">
						<span>
							{peak ? 'Peak: live' : 'Live'} at <strong>{stamp(at)}</strong>
							{chosen && (
								<>
									{' '}
									in{' '}
									<strong>
										<bdi>{chosen.labels.service_name}</bdi>
									</strong>{' '}
									· {chosen.labels.pid}
								</>
							)}
						</span>
						<span class="quiet">{shown.note}</span>
						<Pins params={params} at={at} query={query} />
					</p>
					{shown.graph.total === 0 && (
						<p class="empty-line">
							Nothing was live then.{' '}
							<button
								type="button"
								class="plain link"
								onClick={() => change({ at: null, peak: null })}>
								Show the end of the range
							</button>
						</p>
					)}
				</FlameView>
			)}
		</>
	);
}

/** A peak between ticks has a profile of its own; where there is none the tick before stands for it. */
async function askLive(
	moment: Moment,
	peak: Process | null,
	signal: AbortSignal,
): Promise<{ graph: Graph; note: string }> {
	if (peak && moment.at !== null) {
		const graph = await askFlamegraph(
			{ ...flameQuery(moment), query: peakQuery(peak), at: null, from: moment.at, until: moment.at },
			signal,
		);
		if (graph.total > 0) return { graph, note: 'exactly what was held at that moment' };
	}
	const graph = await askFlamegraph(flameQuery(moment), signal);
	const tick = graph.side.tickMs;
	if (tick === null) return { graph, note: '' };
	const late = moment.at! - tick;
	return {
		graph,
		note: late < 1000 ? 'exactly at a tick' : `by the tick of ${clock(tick)}, ${spanText(late)} before`,
	};
}

function Pins({ params, at, query }: { params: Params; at: number; query: string }) {
	const { pinA, pinB } = params;
	const both = pinA && pinB;
	return (
		<span class="pins">
			<button
				type="button"
				aria-pressed={pinA === String(at)}
				onClick={() => change({ pinA: String(at) })}>
				Pin as A
			</button>
			<button
				type="button"
				aria-pressed={pinB === String(at)}
				onClick={() => change({ pinB: String(at) })}>
				Pin as B
			</button>
			{both && (
				<a
					class="button primary"
					href={linkTo('diff', {
						...sideParams('left', { query, from: '', until: '', at: pinA }),
						...sideParams('right', { query, from: '', until: '', at: pinB }),
					})}>
					Diff A and B
				</a>
			)}
			{(pinA || pinB) && (
				<button type="button" class="plain link" onClick={() => change({ pinA: null, pinB: null })}>
					no pins
				</button>
			)}
		</span>
	);
}

function Change({ params, query }: DetailProps) {
	const { from, until } = changeSpan(params);
	const only = params.what === 'allocated';
	const allocated = ofType(query, GPU_ALLOCATED);
	const limit = params.maxNodes ?? '8192';
	const question = only
		? { query: allocated, from, until, maxNodes: limit }
		: { leftQuery: query, leftAt: from, rightQuery: query, rightAt: until, maxNodes: limit };
	const asked = useAnswer(JSON.stringify(question), (signal) =>
		only ? askFlamegraph(question, signal) : askDiff(question, signal),
	);
	return (
		<>
			<Failure asked={asked} what="the change" />
			{!asked.data && <Waiting asked={asked} what="the change" />}
			{asked.data && (asked.data.tree.before !== null) === !only && (
				<FlameView
					graph={asked.data}
					mode={only ? 'single' : 'absolute'}
					title={only ? 'GPU memory allocated' : 'GPU memory: change'}
					loading={asked.loading}
					defaults={GPU}
					canLimit="yes"
					source={{
						query: only ? allocated : query,
						from,
						until,
						at: null,
						route: only ? 'api/v1/flamegraph' : 'api/v1/diff',
						parameters: question,
					}}>
					<p class="moment">
						<span>
							{only ? 'Allocated' : 'Change'} from <strong>{stamp(from)}</strong> to{' '}
							<strong>{stamp(until)}</strong>{' '}
							<span class="quiet">({spanText(until - from)})</span>
						</span>
						<span class="choice" role="group" aria-label="What is counted">
							<button type="button" aria-pressed={!only} onClick={() => change({ what: null })}>
								allocated − freed
							</button>
							<button
								type="button"
								aria-pressed={only}
								onClick={() => change({ what: 'allocated' })}>
								allocated only
							</button>
						</span>
						<button
							type="button"
							class="plain link"
							onClick={() =>
								change({
									from: String(from),
									until: String(until),
									cfrom: null,
									cuntil: null,
								})
							}>
							zoom the timeline to it
						</button>
					</p>
				</FlameView>
			)}
		</>
	);
}
