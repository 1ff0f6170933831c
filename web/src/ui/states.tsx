/* What is shown where there is nothing to show: loading, errors, and what to do next. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Asked } from '../state/answer';
import { keep, recall } from '../state/kept';
import { copyText } from './copy';

export function Waiting<T>({ asked, what }: { asked: Asked<T>; what: string }) {
	if (!asked.loading) return null;
	return (
		<p class={`waiting${asked.slow ? '' : ' early'}`} role="status">
			<span class="spinner" aria-hidden="true" />{' '}
			{asked.slow ? `Still asking for ${what} …` : `Asking for ${what} …`}
			{asked.slow && (
				<button type="button" onClick={asked.cancel}>
					Stop
				</button>
			)}
		</p>
	);
}

export function Failure<T>({ asked, what }: { asked: Asked<T>; what: string }) {
	const { error } = asked;
	if (!error) return null;
	if (isTenantMissing(error.status, error.message)) return <TenantForm onSet={asked.again} />;
	return (
		<div class="failure" role="alert">
			<p>
				<strong>{titleOf(error.status, error.code)}</strong> {error.message}
			</p>
			{error.request && (
				<p class="quiet small">
					{error.status > 0 ? `${error.status} ${error.code}` : error.code}, asking for {what}:{' '}
					<code>{error.request.slice(0, 300)}</code>
				</p>
			)}
			<button type="button" onClick={asked.again}>
				Ask again
			</button>
		</div>
	);
}

function titleOf(status: number, code: string): string {
	if (code === 'cancelled') return 'Stopped.';
	if (status === 0) return 'No answer.';
	if (status === 400) return 'The server does not understand this.';
	if (status === 404) return 'Not there.';
	if (status === 503) return 'The server is busy.';
	return 'The server could not answer.';
}

const isTenantMissing = (status: number, message: string) =>
	status === 401 || /no org id|X-Scope-OrgID/i.test(message);

/** Servers with -auth.multitenancy-enabled want a name with each question. */
export function TenantForm({ onSet }: { onSet: () => void }) {
	const [name, setName] = useState(recall('tenant'));
	return (
		<form
			class="empty"
			onSubmit={(event) => {
				event.preventDefault();
				keep('tenant', name.trim());
				onSet();
			}}>
			<h2>Which tenant?</h2>
			<p>This server keeps tenants apart and wants a name with each question.</p>
			<label>
				Tenant <input value={name} onInput={(e) => setName(e.currentTarget.value)} />
			</label>{' '}
			<button type="submit" class="primary">
				Use it
			</button>
		</form>
	);
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
	return (
		<div class="empty">
			<h2>{title}</h2>
			{children}
		</div>
	);
}

export function Command({ text }: { text: string }) {
	return (
		<div class="command">
			<pre tabIndex={0}>
				<code>{text}</code>
			</pre>
			<button type="button" onClick={() => copyText(text, 'the command')}>
				Copy
			</button>
		</div>
	);
}
