/* The frame of all pages: navigation, theme, and which page a link means. */
import type { ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { followLinks, linkTo, type Params, usePlace } from './state/location';
import { applyTheme, readTheme, THEMES, type Theme } from './state/theme';
import { Shortcuts } from './help/reading';
import { ComparePage } from './pages/compare';
import { DiffPage } from './pages/diff';
import { GpuPage } from './pages/gpu';
import { HelpPage } from './pages/help';
import { LabelsPage } from './pages/labels';
import { OomPage } from './pages/oom';
import { ProfilePage } from './pages/profile';
import { ServerPage } from './pages/server';
import { ServicesPage } from './pages/services';
import { UploadPage } from './pages/upload';
import { Dialog } from './ui/dialog';
import { Icon } from './ui/icons';
import { useKeys } from './ui/keys';
import { MenuButton } from './ui/menu';
import { NoticeLine } from './ui/notice';
import { Empty } from './ui/states';

interface Page {
	readonly title: string;
	readonly view: ComponentType<{ params: Params }>;
	readonly nav: 'first' | 'more';
	readonly carries: readonly string[]; // parameters that go along to it from other pages
}

const TIME = ['from', 'until', 'refresh'];

const PAGES: Readonly<Record<string, Page>> = {
	'': { title: 'Services', view: ServicesPage, nav: 'first', carries: TIME },
	gpu: { title: 'GPU memory', view: GpuPage, nav: 'first', carries: TIME },
	oom: { title: 'OOM events', view: OomPage, nav: 'first', carries: TIME },
	profile: { title: 'Profile', view: ProfilePage, nav: 'first', carries: [...TIME, 'query'] },
	diff: { title: 'Diff', view: DiffPage, nav: 'first', carries: [...TIME, 'query'] },
	compare: { title: 'Compare', view: ComparePage, nav: 'more', carries: [...TIME, 'query'] },
	labels: { title: 'Labels', view: LabelsPage, nav: 'first', carries: [...TIME, 'query'] },
	upload: { title: 'Upload', view: UploadPage, nav: 'more', carries: [] },
	server: { title: 'Server', view: ServerPage, nav: 'more', carries: [] },
	help: { title: 'Help', view: HelpPage, nav: 'more', carries: [] },
};

export function App() {
	const place = usePlace();
	const [keysOpen, setKeysOpen] = useState(false);
	const page = PAGES[place.page];
	useEffect(() => {
		document.title = page ? `${page.title} · vramscope` : 'vramscope';
	}, [page]);
	useKeys({
		'?': () => setKeysOpen(true),
		'/': () => document.querySelector<HTMLInputElement>('[data-search], input[type="search"]')?.focus(),
	});
	const View = page?.view;
	return (
		<div class="app" onClick={followLinks}>
			<a class="skip" href="#content">
				Skip to the content
			</a>
			<Nav place={place} />
			<div id="content" tabIndex={-1}>
				{View ? (
					<View key={place.page} params={place.params} />
				) : (
					<main class="page">
						<h1 class="hidden">vramscope</h1>
						<Empty title="There is no such page">
							<a class="button primary" href={linkTo('')}>
								All services
							</a>
						</Empty>
					</main>
				)}
			</div>
			<NoticeLine />
			{keysOpen && (
				<Dialog title="Keys" onClose={() => setKeysOpen(false)}>
					<Shortcuts />
				</Dialog>
			)}
		</div>
	);
}

function Nav({ place }: { place: { page: string; params: Params } }) {
	const [theme, setTheme] = useState<Theme>(readTheme);
	const link = (name: string) => {
		const page = PAGES[name]!;
		return linkTo(
			name,
			Object.fromEntries(Object.entries(place.params).filter(([key]) => page.carries.includes(key))),
		);
	};
	return (
		<header class="nav">
			<a class="brand" href={link('')}>
				<svg viewBox="0 0 24 24" width="20" height="20" aria-hidden="true">
					<path class="b1" d="M2 4h20v4H2z" />
					<path class="b2" d="M2 10h13v4H2z" />
					<path class="b3" d="M2 16h7v4H2z" />
				</svg>
				vramscope
			</a>
			<nav aria-label="Pages">
				{Object.entries(PAGES).map(([name, page]) => (
					<a
						key={name}
						class={page.nav}
						href={link(name)}
						aria-current={place.page === name ? 'page' : undefined}>
						{page.title}
					</a>
				))}
			</nav>
			<MenuButton
				label="Theme"
				entries={THEMES.map((name) => ({
					title: { system: 'As the system', dark: 'Dark', light: 'Light' }[name],
					checked: theme === name,
					act: () => (applyTheme(name), setTheme(name)),
				}))}>
				<Icon name="theme" />
				<span class="hidden">Theme</span>
			</MenuButton>
		</header>
	);
}
