/* Before and after in one graph. */
import { askDiff } from '../api/flamegraph';
import { FlameView } from '../fg/flame_view';
import { useAnswer } from '../state/answer';
import { keepBaseline, sideParams } from '../state/baseline';
import { change, linkTo, type Params, usePlace } from '../state/location';
import { partsOf } from '../state/profile_type';
import { readQuery } from '../state/query_text';
import { useTimed } from '../state/range';
import { format, formatChange, percent } from '../state/units';
import { PageHead } from '../ui/page_head';
import { say } from '../ui/notice';
import { Empty, Failure, Waiting } from '../ui/states';
import { defaultsFor } from './shared';
import { SideForm } from './side_form';
import { describeSide, readSides, sideQuery } from './sides';

export function DiffPage({ params }: { params: Params }) {
	const timed = useTimed(params);
	const { left, right } = readSides(params);
	const unit = partsOf(right.query).unit;
	const mode =
		params.mode === 'absolute' || params.mode === 'normalised'
			? params.mode
			: unit === 'bytes'
				? 'absolute'
				: 'normalised';
	const ready = [left, right].every((side) => readQuery(side.query).query?.type);
	const question = {
		...sideQuery('left', left),
		...sideQuery('right', right),
		maxNodes: params.maxNodes ?? '8192',
	};
	const asked = useAnswer(ready ? `${JSON.stringify(question)}|${timed.now}` : null, (signal) =>
		askDiff(question, signal),
	);
	const swap = () =>
		change({ ...empty(params), ...sideParams('left', right), ...sideParams('right', left) });
	return (
		<main class="page">
			<PageHead title="Diff">
				<span class="choice" role="group" aria-label="Mode">
					<button
						type="button"
						aria-pressed={mode === 'absolute'}
						title="Now less before"
						onClick={() => change({ mode: 'absolute' })}>
						absolute
					</button>
					<button
						type="button"
						aria-pressed={mode === 'normalised'}
						title="Each side as a share of its own total"
						onClick={() => change({ mode: 'normalised' })}>
						normalised
					</button>
				</span>
				<button type="button" onClick={swap}>
					Swap sides
				</button>
				<button
					type="button"
					title="What is now becomes the next baseline"
					onClick={() => (
						keepBaseline(right),
						say({ text: 'The right side is the baseline now.' })
					)}>
					Right as baseline
				</button>
				<button type="button" onClick={timed.again}>
					Ask again
				</button>
				<a class="button" href={linkTo('compare', usePlace().params)}>
					Side by side
				</a>
			</PageHead>
			<div class="sides">
				<SideForm side="left" title="Before" seen={left} span={timed.span} now={timed.now} />
				<SideForm side="right" title="Now" seen={right} span={timed.span} now={timed.now} />
			</div>
			{!ready && (
				<Empty title="Compare what with what?">
					<p>
						Mark a view as the baseline (Baseline ▾), change something, and come back; or write
						two queries above.
					</p>
					<a class="button" href={linkTo('gpu')}>
						GPU memory
					</a>{' '}
					<a class="button" href={linkTo('')}>
						Services
					</a>
				</Empty>
			)}
			<Failure asked={asked} what="the comparison" />
			{ready && !asked.data && <Waiting asked={asked} what="the comparison" />}
			{ready && asked.data && (
				<div class="card">
					<FlameView
						graph={asked.data}
						mode={mode}
						title="Diff"
						loading={asked.loading}
						defaults={defaultsFor(right.query)}
						canLimit="yes"
						source={{
							query: right.query,
							from: timed.span.from,
							until: timed.span.until,
							at: 0,
							route: 'api/v1/diff',
							parameters: question,
						}}>
						<p class="moment">
							<span>
								Before: <strong>{format(asked.data.totalBefore, asked.data.unit)}</strong>{' '}
								<span class="quiet">{describeSide(left, timed.now)}</span>
							</span>
							<span>
								Now: <strong>{format(asked.data.total, asked.data.unit)}</strong>{' '}
								<span class="quiet">{describeSide(right, timed.now)}</span>
							</span>
							<Change
								now={asked.data.total}
								before={asked.data.totalBefore}
								unit={asked.data.unit}
							/>
							{mode === 'normalised' && (
								<span class="quiet">Shares of each side's own total are compared.</span>
							)}
						</p>
					</FlameView>
				</div>
			)}
		</main>
	);
}

function Change({ now, before, unit }: { now: number; before: number; unit: string }) {
	const change = now - before;
	return (
		<span>
			Change:{' '}
			<strong class={change > 0 ? 'grown' : change < 0 ? 'shrunk' : ''}>
				{formatChange(change, unit)}
			</strong>
			{before > 0 && (
				<span class="quiet">
					{' '}
					({change > 0 ? '+' : change < 0 ? '−' : ''}
					{percent(Math.abs(change), before)})
				</span>
			)}
		</span>
	);
}

/** Parameters of both sides taken away, before others take their places. */
function empty(params: Params): Record<string, null> {
	return Object.fromEntries(
		Object.keys(params)
			.filter((name) => /^(left|right)/.test(name) || name === 'focus')
			.map((name) => [name, null]),
	);
}
