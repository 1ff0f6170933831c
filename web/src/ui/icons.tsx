/* Icons of one line each, drawn in a square of 16. */

const PATHS = {
	search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14',
	sandwich: 'M2 4h12M4 8h8M2 12h12',
	theme: 'M8 2a6 6 0 1 0 0 12V2Z',
	help: 'M5.8 6a2.2 2.2 0 1 1 3.3 2c-.8.5-1.1.9-1.1 1.7M8 12.2v.2',
	close: 'M3.5 3.5l9 9m0-9l-9 9',
	link: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5L7.5 13A3.2 3.2 0 0 1 3 8.5L4.500 7',
	save: 'M8 2v8m0 0L4.500 6.600M8 10l3.500-3.400M3 13.500h10',
	back: 'M10 3L5 8l5 5',
	forward: 'M6 3l5 5-5 5',
	out: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10Zm3.6-1.4L14 14M4.800 7h4.400',
	refresh: 'M13 8a5 5 0 1 1-1.600-3.700M13 2v3h-3',
	pin: 'M8 14V9M5 9h6L10 6V3h1V2H5v1h1v3Z',
	menu: 'M2.500 4h11M2.500 8h11M2.500 12h11',
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
	return (
		<svg
			class="glyph"
			viewBox="0 0 16 16"
			width="16"
			height="16"
			aria-hidden="true"
			fill="none"
			stroke="currentColor"
			stroke-width="1.5"
			stroke-linecap="round"
			stroke-linejoin="round">
			<path d={PATHS[name]} fill={name === 'theme' ? 'currentColor' : 'none'} />
			{name === 'theme' && <circle cx="8" cy="8" r="6" />}
		</svg>
	);
}
