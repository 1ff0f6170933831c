/*
 * A question to the server while a page stands. A new question ends the old one; the last good
 * answer stays until the next one is there, so that nothing collapses while it loads.
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/http';

const SLOW_MS = 2000;

export interface Asked<T> {
	readonly data: T | null;
	readonly error: ApiError | null;
	readonly loading: boolean;
	readonly slow: boolean; // loading for more than two seconds
	readonly again: () => void;
	readonly cancel: () => void;
}

type Ask<T> = (signal: AbortSignal) => Promise<T>;

/** `ask` is called anew whenever `key` changes; with null for a key nothing is asked. */
export function useAnswer<T>(key: string | null, ask: Ask<T>): Asked<T> {
	const [state, setState] = useState<{
		data: T | null;
		error: ApiError | null;
		busy: boolean;
		slow: boolean;
	}>({ data: null, error: null, busy: key !== null, slow: false });
	const [round, setRound] = useState(0);
	const latest = useRef(ask);
	const running = useRef<AbortController | null>(null);
	latest.current = ask;
	useEffect(() => {
		if (key === null) {
			setState({ data: null, error: null, busy: false, slow: false });
			return;
		}
		const controller = (running.current = new AbortController());
		setState((old) => ({ ...old, busy: true, slow: false }));
		const late = setTimeout(() => setState((old) => ({ ...old, slow: old.busy })), SLOW_MS);
		latest
			.current(controller.signal)
			.then(
				(data) =>
					!controller.signal.aborted && setState({ data, error: null, busy: false, slow: false }),
				(thrown: unknown) =>
					!controller.signal.aborted &&
					setState((old) => ({ ...old, error: asApiError(thrown), busy: false, slow: false })),
			)
			.finally(() => clearTimeout(late));
		return () => {
			clearTimeout(late);
			controller.abort();
		};
	}, [key, round]);
	return {
		data: state.data,
		error: state.error,
		loading: state.busy,
		slow: state.slow,
		again: () => setRound(round + 1),
		cancel: () => {
			running.current?.abort();
			setState((old) => ({
				...old,
				busy: false,
				slow: false,
				error: new ApiError(0, 'cancelled', 'You stopped the question.', ''),
			}));
		},
	};
}

function asApiError(thrown: unknown): ApiError {
	if (thrown instanceof ApiError) return thrown;
	return new ApiError(0, 'internal', thrown instanceof Error ? thrown.message : String(thrown), '');
}

/** Calls at once when `value` is new, and then only after a pause in the changes. */
export function useLater<T>(value: T, pauseMs: number): T {
	const [shown, setShown] = useState(value);
	useEffect(() => {
		const timer = setTimeout(() => setShown(value), pauseMs);
		return () => clearTimeout(timer);
	}, [value, pauseMs]);
	return shown;
}
