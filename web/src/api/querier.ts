/* querier.v1 in JSON, as Grafana asks it: 64-bit numbers come as strings. */
import type { Span } from '../state/time';
import { addressOf, postJson, send } from './http';
import { WireWriter } from './wire';

const SERVICE = 'querier.v1.QuerierService/';

export interface ProfileType {
	readonly id: string;
	readonly name: string;
	readonly sampleType: string;
	readonly sampleUnit: string;
}

export async function askProfileTypes(span: Span, signal: AbortSignal): Promise<ProfileType[]> {
	const answer = (await ask('ProfileTypes', { start: span.from, end: span.until }, signal)) as {
		profileTypes?: { ID?: string; name?: string; sampleType?: string; sampleUnit?: string }[];
	};
	return (answer.profileTypes ?? []).map((t) => ({
		id: t.ID ?? '',
		name: t.name ?? '',
		sampleType: t.sampleType ?? '',
		sampleUnit: t.sampleUnit ?? '',
	}));
}

export async function askLabelNames(matchers: string[], span: Span, signal: AbortSignal): Promise<string[]> {
	const answer = (await ask('LabelNames', { matchers, start: span.from, end: span.until }, signal)) as {
		names?: string[];
	};
	return answer.names ?? [];
}

export async function askLabelValues(
	name: string,
	matchers: string[],
	span: Span,
	signal: AbortSignal,
): Promise<string[]> {
	const answer = (await ask(
		'LabelValues',
		{ name, matchers, start: span.from, end: span.until },
		signal,
	)) as { names?: string[] };
	return answer.names ?? [];
}

export type Labels = Readonly<Record<string, string>>;

export async function askSeries(
	matchers: string[],
	labelNames: string[],
	span: Span,
	signal: AbortSignal,
): Promise<Labels[]> {
	const answer = (await ask(
		'Series',
		{ matchers, labelNames, start: span.from, end: span.until },
		signal,
	)) as { labelsSet?: { labels?: { name: string; value: string }[] }[] };
	return (answer.labelsSet ?? []).map((set) => labelsOf(set.labels));
}

export interface Series {
	readonly labels: Labels;
	readonly points: readonly { readonly t: number; readonly value: number }[];
}

export interface SeriesQuestion {
	readonly type: string;
	readonly selector: string;
	readonly span: Span;
	readonly stepSeconds: number;
	readonly groupBy?: readonly string[];
}

export async function askSelectSeries(question: SeriesQuestion, signal: AbortSignal): Promise<Series[]> {
	const answer = (await ask(
		'SelectSeries',
		{
			profileTypeID: question.type,
			labelSelector: question.selector,
			start: question.span.from,
			end: question.span.until,
			step: question.stepSeconds,
			groupBy: question.groupBy ?? [],
		},
		signal,
	)) as {
		series?: {
			labels?: { name: string; value: string }[];
			points?: { value?: number; timestamp?: string }[];
		}[];
	};
	return (answer.series ?? []).map((one) => ({
		labels: labelsOf(one.labels),
		points: (one.points ?? []).map((p) => ({ t: Number(p.timestamp ?? 0), value: Number(p.value ?? 0) })),
	}));
}

/** A profile in pprof's own bytes: asked in protobuf, since JSON is answered in JSON. */
export async function askPprof(
	type: string,
	selector: string,
	span: Span,
	signal: AbortSignal,
): Promise<Blob> {
	const body = new WireWriter()
		.text(1, type)
		.text(2, selector)
		.int(3, span.from)
		.int(4, span.until)
		.finish();
	const response = await send(addressOf(`${SERVICE}SelectMergeProfile`), {
		method: 'POST',
		headers: { 'Content-Type': 'application/proto' },
		body,
		signal,
	});
	return response.blob();
}

function ask(method: string, message: unknown, signal: AbortSignal): Promise<unknown> {
	return postJson(SERVICE + method, message, signal);
}

function labelsOf(pairs: readonly { name: string; value: string }[] | undefined): Labels {
	return Object.fromEntries((pairs ?? []).map(({ name, value }) => [name, value]));
}

/** A step in whole seconds, at least 15, that cuts the span into at most `pieces`. */
export function stepFor(span: Span, pieces = 240): number {
	return Math.max(15, Math.ceil((span.until - span.from) / 1000 / pieces / 15) * 15);
}
