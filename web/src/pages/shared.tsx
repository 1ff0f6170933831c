/* What several pages ask and write alike. */
import { askFlamegraph, type Graph, type ServedSandwich } from '../api/flamegraph';
import type { Query } from '../api/http';
import type { Source } from '../fg/export_menu';
import { GPU, PLAIN } from '../fg/flame_view';
import type { Params } from '../state/location';
import { isGpuType } from '../state/profile_type';
import { writeSelector } from '../state/query_text';
import type { Span } from '../state/time';

export function selectorOf(labels: Readonly<Record<string, string>>): string {
	return writeSelector(
		Object.entries(labels)
			.filter(([, value]) => value !== '')
			.map(([name, value]) => ({ name, operator: '=', value })),
	);
}

export interface Moment {
	readonly query: string;
	readonly span: Span;
	readonly at: number | null;
	readonly params: Params; // maxNodes and lines
}

/** Parameters of /api/v1/flamegraph. */
export function flameQuery(m: Moment): Query {
	const when = m.at === null ? { from: m.span.from, until: m.span.until } : { at: m.at };
	return {
		query: m.query,
		...when,
		maxNodes: m.params.maxNodes ?? '8192',
		instant: m.params.instant,
		...(m.params.by === 'line' ? { frames: 'line' } : {}),
	};
}

export const askGraph =
	(m: Moment) =>
	(signal: AbortSignal): Promise<Graph> =>
		askFlamegraph(flameQuery(m), signal);

export const askSandwichOf =
	(m: Moment) =>
	async (name: string, signal: AbortSignal): Promise<ServedSandwich | null> =>
		(await askFlamegraph({ ...flameQuery(m), sandwich: name }, signal)).sandwich;

export function sourceOf(m: Moment): Source {
	return {
		query: m.query,
		from: m.span.from,
		until: m.span.until,
		at: m.at,
		route: 'api/v1/flamegraph',
		parameters: flameQuery(m),
	};
}

export const momentKey = (m: Moment) => JSON.stringify(flameQuery(m));

/** GPU memory is looked at without the interpreter's own frames. */
export const defaultsFor = (query: string) =>
	isGpuType(query) || /cuda_class|gpu\s*[=!]/.test(query) ? GPU : PLAIN;
