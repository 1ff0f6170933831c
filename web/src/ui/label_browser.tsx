/* Labels of what is asked: chips of those that are chosen, and values to choose from. */
import { useState } from 'preact/hooks';
import { askLabelNames, askLabelValues } from '../api/querier';
import { useAnswer } from '../state/answer';
import {
	type Matcher,
	type Query,
	readQuery,
	withValue,
	writeQuery,
	writeSelector,
} from '../state/query_text';
import type { Span } from '../state/time';
import { Icon } from './icons';
import { shortened } from './text';

export function LabelChips({
	query,
	span,
	onQuery,
}: {
	query: string;
	span: Span;
	onQuery: (query: string) => void;
}) {
	const [open, setOpen] = useState(false);
	const read = readQuery(query).query;
	if (!read) return null;
	const set = (next: Query) => onQuery(writeQuery(next));
	return (
		<div class="chips">
			{read.matchers.map((m, i) => (
				<span class="chip" key={i}>
					<button
						type="button"
						class="plain"
						title="Turn into its opposite"
						onClick={() => set(replaced(read, i, opposite(m)))}>
						{m.name} <b>{m.operator}</b> <bdi>{shortened(m.value, 60)}</bdi>
					</button>
					<button
						type="button"
						class="plain icon"
						aria-label={`Remove ${m.name}`}
						onClick={() => set(replaced(read, i, null))}>
						<Icon name="close" />
					</button>
				</span>
			))}
			<button type="button" class="plain link" aria-expanded={open} onClick={() => setOpen(!open)}>
				{open ? 'Close labels' : '+ label'}
			</button>
			{open && <Browser read={read} span={span} onQuery={set} />}
		</div>
	);
}

const OPPOSITES = { '=': '!=', '!=': '=', '=~': '!~', '!~': '=~' } as const;
const opposite = (m: Matcher): Matcher => ({ ...m, operator: OPPOSITES[m.operator] });

function replaced(query: Query, at: number, matcher: Matcher | null): Query {
	const matchers = query.matchers.flatMap((m, i) => (i !== at ? [m] : matcher ? [matcher] : []));
	return { ...query, matchers };
}

const FIRST_VALUES = 60;

function Browser({ read, span, onQuery }: { read: Query; span: Span; onQuery: (query: Query) => void }) {
	const [name, setName] = useState('');
	const [filter, setFilter] = useState('');
	const selector = writeSelector(read.matchers);
	const names = useAnswer(`${selector}|${span.from}`, (signal) => askLabelNames([selector], span, signal));
	const values = useAnswer(name ? `${name}|${selector}|${span.from}` : null, (signal) =>
		askLabelValues(name, [writeSelector(read.matchers.filter((m) => m.name !== name))], span, signal),
	);
	const shown = (values.data ?? []).filter((v) => v.toLowerCase().includes(filter.toLowerCase()));
	return (
		<div class="label-browser">
			<div class="label-names" role="group" aria-label="Labels">
				{(names.data ?? [])
					.filter((n) => !/^__.*__$/.test(n))
					.map((n) => (
						<button
							type="button"
							key={n}
							aria-pressed={n === name}
							onClick={() => (setName(n), setFilter(''))}>
							<bdi>{shortened(n, 60)}</bdi>
						</button>
					))}
			</div>
			{name && (
				<div class="label-values">
					{(values.data?.length ?? 0) > 8 && (
						<input
							type="search"
							placeholder={`Filter ${name}`}
							aria-label={`Filter values of ${name}`}
							value={filter}
							onInput={(e) => setFilter(e.currentTarget.value)}
						/>
					)}
					<ul>
						{shown.slice(0, FIRST_VALUES).map((value) => (
							<li key={value}>
								<button
									type="button"
									class="plain"
									title="only this"
									onClick={() => onQuery(withValue(read, name, value))}>
									<bdi>{shortened(value, 100)}</bdi>
								</button>
								<button
									type="button"
									class="plain small"
									title="without this"
									onClick={() => onQuery(withValue(read, name, value, '!='))}>
									not
								</button>
							</li>
						))}
					</ul>
					{shown.length > FIRST_VALUES && (
						<p class="quiet small">{shown.length - FIRST_VALUES} more: filter them.</p>
					)}
					{values.data && shown.length === 0 && <p class="quiet small">No value.</p>}
				</div>
			)}
		</div>
	);
}
