/* /api/v1/services, /api/v1/server and /api/v1/rejects: docs/api/services.md, rejects.md. */
import { getJson, type Query } from './http';

export interface Service {
	readonly service_name: string;
	readonly is_gpu: boolean;
	readonly first_ms: number;
	readonly last_ms: number;
	readonly series: number;
	readonly profile_types: readonly string[];
	readonly profiles: readonly number[];
}

export interface Services {
	readonly start_ms: number;
	readonly step_ms: number;
	readonly services: readonly Service[];
}

export interface ServerState {
	readonly version: string;
	readonly revision: string;
	readonly started_ms: number;
	readonly now_ms: number;
	readonly ingest: {
		readonly profiles: number;
		readonly deduplicated: number;
		readonly profiles_last_minute: number;
	};
	readonly disk: {
		readonly bytes: number;
		readonly wal_bytes: number;
		readonly max_bytes: number;
		readonly retention_ms: number | null;
		readonly damaged_windows: number;
		readonly windows: readonly { readonly day_ms: number; readonly bytes: number }[];
	};
	readonly memory: {
		readonly used_bytes: number;
		readonly limit_bytes: number;
		readonly cache_bytes: number;
	};
	readonly queue: { readonly length: number; readonly bytes: number };
	readonly errors: readonly {
		readonly time_ms: number;
		readonly level: string;
		readonly message: string;
	}[];
	readonly senders: readonly {
		readonly sender: string;
		readonly user_agent: string;
		readonly route: string;
		readonly first_ms: number;
		readonly last_ms: number;
		readonly writes: number;
	}[];
}

export const askServices = (query: Query, signal: AbortSignal) =>
	getJson('api/v1/services', query, signal) as Promise<Services>;
export const askServer = (signal: AbortSignal) =>
	getJson('api/v1/server', {}, signal) as Promise<ServerState>;
