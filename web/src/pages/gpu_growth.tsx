/* Stacks that hold more than before, and the least that each held lately: a floor that rises is a leak. */
import { useState } from 'preact/hooks';
import { askGrowth, type Growth, num, type Wide } from '../api/gpu';
import { kindOfName } from '../fg/frames';
import { useAnswer } from '../state/answer';
import type { Span } from '../state/time';
import { exact, format, formatChange } from '../state/units';
import { copyText } from '../ui/copy';
import { Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';

const FLOORS = ['1m', '10m', '1h', '6h'] as const;

export function GrowthTable({ selector, process, span }: { selector: string; process: string; span: Span }) {
	const [limit, setLimit] = useState(50);
	const question = { selector, process, from: Math.round(span.from), until: Math.round(span.until), limit };
	const asked = useAnswer(JSON.stringify(question), (signal) => askGrowth(question, signal));
	const stacks = asked.data?.stacks ?? [];
	return (
		<>
			<Failure asked={asked} what="growth" />
			{!asked.data && <Waiting asked={asked} what="growth" />}
			{asked.data && stacks.length === 0 && (
				<p class="quiet pad">No stack held anything in this time.</p>
			)}
			{stacks.length > 0 && (
				<div class={`table-card${asked.loading ? ' stale' : ''}`}>
					<table class="list growth">
						<thead>
							<tr>
								<th scope="col">Stack, the innermost function first</th>
								<th scope="col" class="r">
									At the start
								</th>
								<th scope="col" class="r">
									At the end
								</th>
								<th scope="col" class="r">
									Growth
								</th>
								{FLOORS.map((f) => (
									<th
										scope="col"
										class="r"
										key={f}
										title={`the least that was live in the last ${f}`}>
										least in {f}
									</th>
								))}
							</tr>
						</thead>
						<tbody>
							{stacks.map((s, i) => (
								<GrowthRow key={i} row={s} />
							))}
						</tbody>
					</table>
					{stacks.length === limit && (
						<button
							type="button"
							class="plain pad"
							onClick={() => setLimit(Math.min(1000, limit * 4))}>
							Show more stacks
						</button>
					)}
				</div>
			)}
		</>
	);
}

function GrowthRow({ row }: { row: Growth }) {
	const growth = num(row.growth_bytes);
	const cell = (value: Wide | null | undefined) => {
		const n = num(value);
		return (
			<td class="r" title={n === null ? 'not known' : exact(n, 'bytes')}>
				{n === null ? '–' : format(n, 'bytes')}
			</td>
		);
	};
	return (
		<tr>
			<th scope="row">
				<Stack stack={row.stack} />
			</th>
			{cell(row.start_bytes)}
			{cell(row.end_bytes)}
			<td class={`r ${growth === null ? '' : growth > 0 ? 'grown' : growth < 0 ? 'shrunk' : ''}`}>
				{growth === null ? '–' : formatChange(growth, 'bytes')}
			</td>
			{FLOORS.map((f) => cell(row.floor[f]))}
		</tr>
	);
}

const SHORT = 3;

/** Whose code it is: without the driver, the interpreter and native libraries, unless there is nothing else. */
function telling(inner: readonly string[]): readonly string[] {
	const own = inner.filter((name) => ['python', 'other'].includes(kindOfName(name)));
	return own.length > 0 ? own : inner;
}

/** Innermost first. */
export function Stack({ stack }: { stack: readonly string[] }) {
	const [open, setOpen] = useState(false);
	const inner = [...stack].reverse();
	const shown = open ? inner : telling(inner).slice(0, SHORT);
	const hidden = inner.length - shown.length;
	return (
		<div class="stack">
			<ol>
				{shown.map((name, i) => (
					<li key={i} class={kindOfName(name)}>
						<bdi>{shortened(name, 200)}</bdi>
					</li>
				))}
			</ol>
			<span class="links">
				{(hidden > 0 || open) && (
					<button
						type="button"
						class="plain link small"
						aria-expanded={open}
						onClick={() => setOpen(!open)}>
						{open ? 'shorter' : `all ${inner.length} frames`}
					</button>
				)}
				<button
					type="button"
					class="plain link small"
					onClick={() => copyText(inner.join('\n'), 'the stack')}>
					copy
				</button>
			</span>
		</div>
	);
}
