/* One side of a comparison: its query, and its time as a range or a moment. */
import { useEffect, useState } from 'preact/hooks';
import type { Seen, SideName } from '../state/baseline';
import { change } from '../state/location';
import { readTime, type Span, stamp } from '../state/time';
import { QueryLine } from '../ui/query_line';

interface SideFormProps {
	readonly side: SideName;
	readonly title: string;
	readonly seen: Seen;
	readonly span: Span; // what completion looks in
	readonly now: number;
}

export function SideForm({ side, title, seen, span, now }: SideFormProps) {
	const set = (what: string, value: string) => change({ [`${side}${what}`]: value, focus: null });
	return (
		<fieldset class={`card side ${side}`}>
			<legend>{title}</legend>
			<QueryLine
				label={`${title}: query`}
				query={seen.query}
				span={span}
				onQuery={(query) => set('Query', query)}
			/>
			<div class="side-times">
				{seen.at ? (
					<TimeField title="At" value={seen.at} now={now} onTime={(text) => set('At', text)} />
				) : (
					<>
						<TimeField
							title="From"
							value={seen.from}
							now={now}
							onTime={(text) => set('From', text)}
						/>
						<TimeField
							title="Until"
							value={seen.until}
							now={now}
							onTime={(text) => set('Until', text)}
						/>
					</>
				)}
				{seen.at ? (
					<button
						type="button"
						class="plain link"
						onClick={() =>
							change({
								[`${side}At`]: null,
								[`${side}From`]: String(Number(readTime(seen.at, now) ?? now) - 3600e3),
								[`${side}Until`]: seen.at,
							})
						}>
						a range instead
					</button>
				) : (
					<button
						type="button"
						class="plain link"
						title="Only for what is live at a time"
						onClick={() => set('At', String(readTime(seen.until, now) ?? now))}>
						a moment instead
					</button>
				)}
			</div>
		</fieldset>
	);
}

function TimeField({
	title,
	value,
	now,
	onTime,
}: {
	title: string;
	value: string;
	now: number;
	onTime: (text: string) => void;
}) {
	const written = () => (/^\d{9,}$/.test(value) ? stamp(readTime(value, now)!) : value);
	const [text, setText] = useState(written);
	useEffect(() => setText(written()), [value]);
	const bad = readTime(text, now) === null;
	const send = () => {
		if (bad || text === written()) return;
		onTime(text.startsWith('now') ? text : String(readTime(text, now)));
	};
	return (
		<label>
			{title}{' '}
			<input
				class="time-text"
				value={text}
				aria-invalid={bad}
				onInput={(e) => setText(e.currentTarget.value)}
				onBlur={send}
				onKeyDown={(e) => e.key === 'Enter' && send()}
			/>
		</label>
	);
}
