/* /api/gpu/...: docs/api/gpu.md. Members have the names of the wire. */
import { getJson, type Query } from './http';
import type { Labels } from './querier';

export type Wide = number | string;

export interface Process {
	readonly id: string;
	readonly labels: Labels;
	readonly state: string;
	readonly first_ms: number;
	readonly last_ms: number;
	readonly live_bytes: Wide;
	readonly live_blocks: Wide;
	readonly by_class: Readonly<Record<string, Wide>>;
	readonly by_gpu: Readonly<Record<string, Wide>>;
	readonly peak_bytes: Wide | null;
	readonly peak_ms: number | null;
	readonly alloc_bytes: Wide | null;
	readonly alloc_calls: Wide | null;
	readonly freed_bytes: Wide | null;
	readonly failures: Wide;
	readonly growth_bytes: Wide | null;
}

export interface Device {
	readonly hostname: string;
	readonly gpu: string;
	readonly used_bytes: Wide | null;
	readonly total_bytes: Wide | null;
	readonly live_bytes: Wide;
}

export interface Processes {
	readonly tick_ms: number | null;
	readonly interval_ms: number | null;
	readonly processes: readonly Process[];
	readonly devices?: readonly Device[];
}

export interface Marker {
	readonly t_ms: number;
	readonly kind: string;
	readonly process: string;
	readonly bytes: Wide;
}

export interface Timeline {
	readonly start_ms: number;
	readonly step_ms: number;
	readonly capacity_bytes: Wide | null;
	readonly total: readonly (Wide | null)[];
	readonly series: readonly {
		readonly key: string;
		readonly labels: Labels;
		readonly values: readonly (Wide | null)[];
	}[];
	readonly other: readonly (Wide | null)[];
	readonly markers: readonly Marker[];
}

export interface HeldStack {
	readonly bytes: Wide;
	readonly stack: readonly string[];
}

export interface Oom {
	readonly id: string;
	readonly time_ms: number;
	readonly labels: Labels;
	readonly gpu: string;
	readonly cuda_error: string;
	readonly requested_bytes: Wide;
	readonly live_bytes: Wide;
	readonly device_used_bytes: Wide | null;
	readonly device_total_bytes: Wide | null;
	readonly recovered: boolean;
	readonly stack: readonly string[];
	readonly top: readonly HeldStack[];
	readonly processes?: readonly OomProcess[];
}

export interface OomProcess {
	readonly id: string;
	readonly labels: Labels;
	readonly live_bytes: Wide;
	readonly top: readonly HeldStack[];
}

export interface Growth {
	readonly stack: readonly string[];
	readonly start_bytes: Wide | null;
	readonly end_bytes: Wide | null;
	readonly growth_bytes: Wide | null;
	readonly floor: Readonly<Record<string, Wide | null>>;
}

export const askProcesses = (query: Query, signal: AbortSignal) =>
	getJson('api/gpu/processes', query, signal) as Promise<Processes>;
export const askTimeline = (query: Query, signal: AbortSignal) =>
	getJson('api/gpu/timeline', query, signal) as Promise<Timeline>;
export const askOoms = (query: Query, signal: AbortSignal) =>
	getJson('api/gpu/oom', query, signal) as Promise<{ events: Oom[]; next: string | null }>;
export const askOom = (id: string, signal: AbortSignal) =>
	getJson(`api/gpu/oom/${id}`, {}, signal) as Promise<Oom>;
export const askGrowth = (query: Query, signal: AbortSignal) =>
	getJson('api/gpu/growth', query, signal) as Promise<{ stacks: Growth[] }>;

/** null stays: nobody knows. */
export function num(value: Wide | null | undefined): number | null {
	return value === null || value === undefined ? null : Number(value);
}
