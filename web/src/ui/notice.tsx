/* One short message at the foot of the page; also read aloud. */
import { useEffect, useRef, useState } from 'preact/hooks';

export interface Notice {
	readonly text: string;
	readonly copy?: string; // shown selected, to be copied by hand
}

const said = new EventTarget();
const SHOWN_MS = 4000;

export function say(notice: Notice): void {
	said.dispatchEvent(new CustomEvent('said', { detail: notice }));
}

export function NoticeLine() {
	const [notice, setNotice] = useState<Notice | null>(null);
	const box = useRef<HTMLInputElement>(null);
	useEffect(() => {
		let timer: ReturnType<typeof setTimeout>;
		const show = (event: Event) => {
			const { detail } = event as CustomEvent<Notice>;
			setNotice(detail);
			clearTimeout(timer);
			if (detail.copy === undefined) timer = setTimeout(() => setNotice(null), SHOWN_MS);
		};
		said.addEventListener('said', show);
		return () => {
			clearTimeout(timer);
			said.removeEventListener('said', show);
		};
	}, []);
	useEffect(() => box.current?.select(), [notice]);
	return (
		<div class="notice" role="status" aria-live="polite">
			{notice && (
				<div class="notice-box">
					<span>{notice.text}</span>
					{notice.copy !== undefined && (
						<input ref={box} readOnly value={notice.copy} aria-label="Text to copy" />
					)}
					{notice.copy !== undefined && (
						<button type="button" onClick={() => setNotice(null)}>
							Close
						</button>
					)}
				</div>
			)}
		</div>
	);
}
