/*
 * Requests to the server that served this page. Errors say what the server said; every request
 * ends with its signal.
 */
import { baseUrl } from '../state/location';
import { recall } from '../state/kept';
import { noteDate } from '../state/server_clock';

export class ApiError extends Error {
	constructor(
		readonly status: number,
		readonly code: string,
		message: string,
		readonly request: string,
	) {
		super(message);
	}
}

export type Query = Readonly<Record<string, string | number | null | undefined>>;

/** A route's address; the pages are one folder below the routes. */
export function addressOf(path: string, query: Query = {}): URL {
	const url = new URL(`../${path.replace(/^\//, '')}`, baseUrl());
	for (const [name, value] of Object.entries(query)) {
		if (value !== null && value !== undefined && value !== '')
			url.searchParams.append(name, String(value));
	}
	return url;
}

export async function getJson(path: string, query: Query, signal: AbortSignal): Promise<unknown> {
	return asJson(await send(addressOf(path, query), { signal }));
}

export async function postJson(path: string, body: unknown, signal: AbortSignal): Promise<unknown> {
	return asJson(await send(addressOf(path), jsonRequest(body, signal)));
}

export async function postBytes(path: string, query: Query, body: Blob, signal: AbortSignal): Promise<void> {
	await send(addressOf(path, query), { method: 'POST', body, signal });
}

function jsonRequest(body: unknown, signal: AbortSignal): RequestInit {
	return {
		method: 'POST',
		headers: { 'Content-Type': 'application/json' },
		body: JSON.stringify(body),
		signal,
	};
}

export async function send(url: URL, request: RequestInit): Promise<Response> {
	const headers = new Headers(request.headers);
	const tenant = recall('tenant');
	if (tenant) headers.set('X-Scope-OrgID', tenant);
	let response: Response;
	try {
		response = await fetch(url, { ...request, headers });
	} catch (error) {
		if (request.signal?.aborted) throw error;
		throw new ApiError(0, 'unreachable', 'The server does not answer.', describe(url, request));
	}
	noteDate(response.headers.get('Date'));
	if (!response.ok) throw await errorOf(response, describe(url, request));
	return response;
}

const describe = (url: URL, request: RequestInit) =>
	`${request.method ?? 'GET'} ${url.pathname}${url.search}`;

async function errorOf(response: Response, request: string): Promise<ApiError> {
	const text = await response.text().catch(() => '');
	let said: { code?: unknown; message?: unknown } = {};
	try {
		said = JSON.parse(text) as typeof said;
	} catch {
		// not every error is JSON
	}
	const message =
		typeof said.message === 'string' && said.message ? said.message : text.trim().slice(0, 500);
	return new ApiError(response.status, String(said.code ?? ''), message || response.statusText, request);
}

/** A body that ends in the middle is an error of its own. */
async function asJson(response: Response): Promise<unknown> {
	const text = await response.text().catch((error: unknown) => {
		if (error instanceof DOMException && error.name === 'AbortError') throw error;
		throw new ApiError(response.status, 'cut', 'The answer ended in the middle.', response.url);
	});
	try {
		return JSON.parse(text);
	} catch {
		throw new ApiError(response.status, 'malformed', 'The answer is no JSON.', response.url);
	}
}
