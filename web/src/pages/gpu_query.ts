/* Queries of what lives on GPUs. */
import type { Process } from '../api/gpu';
import { GPU_LIVE } from '../state/profile_type';
import { type Matcher, readQuery, valueOf, withValue, writeQuery, writeSelector } from '../state/query_text';

export const CLASS_TITLES = {
	device: 'device memory',
	all: 'all classes',
	managed: 'managed',
	pinned: 'pinned host',
	registered: 'registered host',
	graph: 'graph',
} as const;
export type ClassSet = keyof typeof CLASS_TITLES;

export function readClassSet(text: string | undefined): ClassSet {
	return text !== undefined && text in CLASS_TITLES ? (text as ClassSet) : 'device';
}

/** Classes that lie in the host's memory, or are counted elsewhere: docs/api/gpu.md. */
const ELSEWHERE = 'pinned|registered|graph';

const CLASSES: (set: ClassSet) => Matcher[] = (set) => {
	const any: Matcher = { name: 'cuda_class', operator: '=~', value: '.+' };
	if (set === 'all') return [any];
	if (set === 'device') return [any, { name: 'cuda_class', operator: '!~', value: ELSEWHERE }];
	return [{ name: 'cuda_class', operator: '=', value: set }];
};

/** Live bytes of a selector, so that the sum is what the process table says. */
export function liveQuery(selector: string, set: ClassSet, type = GPU_LIVE): string {
	const matchers = readQuery(selector || '{}').query?.matchers ?? [];
	const own = matchers.some((m) => m.name === 'cuda_class');
	return writeQuery({ type, matchers: [...matchers, ...(own ? [] : CLASSES(set))] });
}

/** The same question of another profile type. */
export function ofType(query: string, type: string): string {
	const read = readQuery(query).query;
	return read ? writeQuery({ ...read, type }) : query;
}

export function processById(processes: readonly Process[], id: string | undefined): Process | null {
	return (id && processes.find((p) => p.id === id)) || null;
}

export function withProcess(selector: string, chosen: Process | null): string {
	let query = readQuery(selector || '{}').query ?? { type: '', matchers: [] };
	for (const name of ['hostname', 'pid', 'service_name']) {
		const value = chosen?.labels[name];
		if (value) query = withValue(query, name, value);
	}
	return query.matchers.length === 0 ? '' : writeSelector(query.matchers);
}

/** The highest point of a process between two ticks is a profile of its own. */
export function peakQuery(chosen: Process, reason = ''): string {
	let query = { type: 'gpu_memory_peak:peak_space:bytes:space:bytes', matchers: [] as readonly Matcher[] };
	for (const name of ['hostname', 'pid', 'service_name']) {
		const value = chosen.labels[name];
		if (value) query = withValue(query, name, value) as typeof query;
	}
	if (reason) query = withValue(query, 'reason', reason) as typeof query;
	return writeQuery(query);
}

export const hostOf = (query: string) =>
	valueOf(readQuery(query).query ?? { type: '', matchers: [] }, 'hostname');
