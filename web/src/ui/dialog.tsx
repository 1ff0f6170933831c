/* A box above the page. The browser keeps the focus inside and closes it on Esc. */
import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Icon } from './icons';

export function Dialog({
	title,
	onClose,
	children,
}: {
	title: string;
	onClose: () => void;
	children: ComponentChildren;
}) {
	const box = useRef<HTMLDialogElement>(null);
	useEffect(() => box.current?.showModal(), []);
	return (
		<dialog
			ref={box}
			aria-label={title}
			onClose={onClose}
			onClick={(e) => e.target === box.current && box.current?.close()}>
			<div class="dialog-head">
				<h2>{title}</h2>
				<button
					type="button"
					class="icon-button"
					aria-label="Close"
					onClick={() => box.current?.close()}>
					<Icon name="close" />
				</button>
			</div>
			{children}
		</dialog>
	);
}
