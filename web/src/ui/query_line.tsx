/* The query as text, with completion and the place of an error. Enter or leaving the line asks. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { askLabelNames, askLabelValues, askProfileTypes } from '../api/querier';
import { useAnswer } from '../state/answer';
import { readQuery } from '../state/query_text';
import type { Span } from '../state/time';
import { completed, matching, type Slot, slotAt } from './completion';
import { shortened } from './text';

export interface QueryLineProps {
	readonly query: string;
	readonly span: Span;
	readonly label: string;
	readonly placeholder?: string;
	readonly onQuery: (query: string) => void;
}

const MOST_CHOICES = 40;

export function QueryLine(p: QueryLineProps) {
	const [text, setText] = useState(p.query);
	const [slot, setSlot] = useState<Slot | null>(null);
	const [chosen, setChosen] = useState(-1);
	const input = useRef<HTMLInputElement>(null);
	useEffect(() => setText(p.query), [p.query]);
	const reading = readQuery(text);
	const choices = useChoices(slot, text, p.span);
	const id = `choices-${p.label.replace(/\W/g, '')}`;

	const look = () => setSlot(slotAt(input.current!.value, input.current!.selectionStart ?? 0));
	const close = () => (setSlot(null), setChosen(-1));
	const take = (choice: string) => {
		const next = completed(text, slot!, choice);
		setText(next.text);
		setChosen(-1);
		requestAnimationFrame(() => {
			input.current!.focus();
			input.current!.setSelectionRange(next.cursor, next.cursor);
			if (slot!.kind === 'name') look();
			else close();
		});
	};
	const ask = () => {
		close();
		if (!reading.error && text !== p.query) p.onQuery(text);
	};
	const onKey = (event: KeyboardEvent) => {
		const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (move && choices.length > 0) {
			event.preventDefault();
			setChosen((chosen + move + choices.length) % choices.length);
		} else if (event.key === 'Enter' || event.key === 'Tab') {
			const choice = choices[chosen];
			if (choice !== undefined) {
				event.preventDefault();
				take(choice);
			} else if (event.key === 'Enter') ask();
		} else if (event.key === 'Escape') close();
	};
	const shown = slot !== null && choices.length > 0;
	return (
		<div class="query-line">
			<input
				ref={input}
				class="query-text"
				value={text}
				aria-label={p.label}
				spellcheck={false}
				autocomplete="off"
				placeholder={p.placeholder ?? 'TYPE{label="value"}'}
				role="combobox"
				aria-expanded={shown}
				aria-controls={id}
				aria-autocomplete="list"
				aria-invalid={reading.error !== null}
				aria-describedby={reading.error ? `${id}-error` : undefined}
				aria-activedescendant={shown && chosen >= 0 ? `${id}-${chosen}` : undefined}
				onInput={(e) => (setText(e.currentTarget.value), setChosen(-1), look())}
				onClick={look}
				onFocus={look}
				onBlur={ask}
				onKeyDown={onKey}
				onKeyUp={(e) => (e.key === 'ArrowLeft' || e.key === 'ArrowRight') && look()}
			/>
			<ul class="choices" id={id} role="listbox" aria-label="Choices" hidden={!shown}>
				{shown &&
					choices.map((choice, i) => (
						<li
							key={choice}
							id={`${id}-${i}`}
							role="option"
							aria-selected={i === chosen}
							onPointerDown={(e) => (e.preventDefault(), take(choice))}>
							<bdi>{shortened(choice, 160)}</bdi>
						</li>
					))}
			</ul>
			{reading.error && (
				<div class="query-error" id={`${id}-error`} role="alert">
					<pre aria-hidden="true">{`${text.slice(0, reading.error.at).replace(/[^\t]/g, ' ')}^`}</pre>
					<span>
						{reading.error.message} (at character {reading.error.at + 1})
					</span>
				</div>
			)}
		</div>
	);
}

function useChoices(slot: Slot | null, text: string, span: Span): string[] {
	const service = /service_name\s*=\s*"((?:[^"\\]|\\.)*)"/.exec(text)?.[1];
	const matchers = service && slot?.label !== 'service_name' ? [`{service_name="${service}"}`] : [];
	const key = slot && `${slot.kind}|${slot.label}|${matchers[0] ?? ''}|${span.from}|${span.until}`;
	const asked = useAnswer<string[]>(key, (signal) => {
		if (slot!.kind === 'type')
			return askProfileTypes(span, signal).then((types) => types.map((t) => t.id));
		if (slot!.kind === 'value') return askLabelValues(slot!.label, matchers, span, signal);
		return askLabelNames(matchers, span, signal).then((names) =>
			names.filter((name) => !/^__.*__$/.test(name) || name === '__profile_type__'),
		);
	});
	if (!slot || !asked.data) return [];
	const found = matching(asked.data, slot.typed, MOST_CHOICES);
	return found.length === 1 && found[0] === slot.typed ? [] : found;
}
