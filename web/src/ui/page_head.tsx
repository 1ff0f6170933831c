/* The head of a page: title, time, link and baseline. */
import type { ComponentChildren } from 'preact';
import { keepBaseline, readBaseline, type Seen, sideParams } from '../state/baseline';
import { changed, go, linkTo, usePlace } from '../state/location';
import { asRange, type Timed } from '../state/range';
import { isRelative } from '../state/time';
import { copyText } from './copy';
import { Icon } from './icons';
import { MenuButton } from './menu';
import { say } from './notice';
import { TimePicker } from './time_picker';

export interface PageHeadProps {
	readonly title: ComponentChildren;
	readonly timed?: Timed;
	readonly clears?: readonly string[];
	readonly seen?: Seen | null; // what "baseline" means here; times are absolute
	readonly children?: ComponentChildren;
}

export function PageHead(p: PageHeadProps) {
	const place = usePlace();
	return (
		<div class="page-head">
			<h1>{p.title}</h1>
			{p.children}
			<span class="grow" />
			{p.timed && <TimePicker timed={p.timed} clears={p.clears} />}
			{p.seen && <BaselineMenu seen={p.seen} />}
			<MenuButton
				label="Link to this view"
				entries={[
					{
						title: 'Copy link, times fixed',
						act: () =>
							copyText(
								fixedLink(place.page, place.params, p.timed),
								'a link that shows these very times',
							),
					},
					{
						title:
							p.timed && isRelative(p.timed.range)
								? 'Copy link, times relative to now'
								: 'Copy link as it is',
						act: () =>
							copyText(
								new URL(
									linkTo(place.page, {
										...(p.timed ? { ...p.timed.range } : {}),
										...place.params,
									}),
									location.href,
								).href,
								'the link',
							),
					},
				]}>
				<Icon name="link" /> Link ▾
			</MenuButton>
		</div>
	);
}

function fixedLink(page: string, params: Readonly<Record<string, string>>, timed: Timed | undefined): string {
	const fixed = timed ? changed(params, { ...asRange(timed.span), refresh: null }) : params;
	return new URL(linkTo(page, fixed), location.href).href;
}

function BaselineMenu({ seen }: { seen: Seen }) {
	const baseline = readBaseline();
	return (
		<MenuButton
			label="Before and after"
			entries={[
				{
					title: 'Mark as baseline',
					act: () => (
						keepBaseline(seen),
						say({ text: 'Marked. Change something, then: diff with baseline.' })
					),
				},
				{
					title: 'Diff with baseline',
					off: baseline ? undefined : 'Mark a baseline first',
					act: () => go('diff', { ...sideParams('left', baseline!), ...sideParams('right', seen) }),
				},
				{
					title: 'Compare side by side',
					off: baseline ? undefined : 'Mark a baseline first',
					act: () =>
						go('compare', { ...sideParams('left', baseline!), ...sideParams('right', seen) }),
				},
			]}>
			<Icon name="pin" /> Baseline ▾
		</MenuButton>
	);
}
