/* One picture with its pointer, cursor keys, tooltip and menu. */
import { useEffect, useMemo, useState } from 'preact/hooks';
import { Menu } from '../ui/menu';
import { shortened } from '../ui/text';
import { copyText } from '../ui/copy';
import { format, formatChange } from '../state/units';
import { changeOf, type Paint } from './color';
import type { Window } from './draw';
import { FlameCanvas } from './flame_canvas';
import { placeOf } from './frames';
import type { Prepared } from './prepared';
import { Tooltip, spoken } from './tooltip';
import { nameOf, pathTo } from './tree';

export interface PanelActions {
	readonly onFocus: (node: number | null) => void;
	readonly onSandwich: (name: string) => void;
	readonly onSearch: (text: string) => void;
	readonly onHide: (name: string) => void;
	readonly onToggleGroup: (head: number) => void;
	readonly onHoverName: (name: number) => void;
}

export interface PanelProps extends PanelActions {
	readonly prepared: Prepared;
	readonly focus: number; // node, 0: none
	readonly paint: Paint;
	readonly direction: 'down' | 'up';
	readonly unit: string;
	readonly mode: 'single' | 'absolute' | 'normalised';
	readonly scaleBefore: number;
	readonly hoverName: number;
	readonly title: string;
	readonly highest: number;
	readonly jump: { readonly node: number } | null; // a cursor from outside: the next hit
}

export function FlamePanel(p: PanelProps) {
	const { layout, tree, hits, groups } = p.prepared;
	const [hover, setHover] = useState({ node: -1, x: 0, y: 0 });
	const [cursor, setCursor] = useState(-1);
	const [menu, setMenu] = useState<{ node: number; x: number; y: number } | null>(null);
	const [range, setRange] = useState<Window | null>(null);
	useEffect(() => setRange(null), [layout, p.focus]);
	useEffect(() => (setCursor(-1), setHover({ node: -1, x: 0, y: 0 })), [tree]);
	useEffect(() => void (p.jump && setCursor(p.jump.node)), [p.jump]);

	const shownFocus = layout.row[p.focus]! < 0 ? groups.head[p.focus]! : p.focus;
	const whole: Window = {
		x0: layout.start[shownFocus] ?? 0,
		x1: (layout.start[shownFocus] ?? 0) + (layout.weight[shownFocus] ?? 0),
	};
	const label = useMemo(() => labeller(p), [layout, p.unit, p.mode, p.scaleBefore]);
	const marks = useMemo(() => marksOf(p.prepared), [tree]);
	const cursorNode = cursor >= 0 && cursor < tree.size ? cursor : -1;

	const onKey = (event: KeyboardEvent) => {
		const node = Math.max(0, cursorNode);
		const keys: Record<string, () => void> = {
			Enter: () => p.onFocus(node),
			Backspace: () => p.onFocus(p.focus > 0 ? Math.max(0, tree.parent[p.focus]!) : null),
			Escape: () => (setRange(null), p.onFocus(null)),
			m: () => openMenu(node),
			ContextMenu: () => openMenu(node),
			s: () => node > 0 && p.onSandwich(nameOf(tree, node)),
		};
		const act = keys[event.key];
		if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		event.stopPropagation();
		act();
	};
	const openMenu = (node: number) => {
		const box = document.activeElement?.getBoundingClientRect();
		setMenu({ node, x: (box?.left ?? 0) + 40, y: (box?.top ?? 0) + 40 });
	};
	return (
		<div class="fg-panel" onKeyDown={onKey}>
			<FlameCanvas
				title={p.title}
				highest={p.highest}
				scene={{
					layout,
					window: range ?? whole,
					focusRow: range ? 0 : (layout.row[shownFocus] ?? 0),
					hits: hits?.names ?? null,
					paint: p.paint,
					label,
					hover: hover.node < tree.size ? hover.node : -1,
					cursor: cursorNode,
					hoverName: p.hoverName,
					direction: p.direction,
					marks,
				}}
				onHover={(node, x, y) => {
					setHover({ node, x, y });
					p.onHoverName(node > 0 ? tree.name[node]! : -1);
				}}
				onPick={(node) => (setRange(null), setCursor(node), p.onFocus(node === 0 ? null : node))}
				onMenu={(node, x, y) => (
					setHover({ node: -1, x: 0, y: 0 }),
					setCursor(node),
					setMenu({ node, x, y })
				)}
				onRange={(x0, x1) => setRange({ x0, x1 })}
				onCursor={setCursor}
			/>
			<div class="hidden" aria-live="polite">
				{cursorNode >= 0 ? spoken(layout, cursorNode, p.unit) : ''}
			</div>
			{range && (
				<button type="button" class="fg-reset" onClick={() => setRange(null)}>
					Show the whole width
				</button>
			)}
			{hover.node >= 0 && hover.node < tree.size && !menu && (
				<Tooltip
					layout={layout}
					node={hover.node}
					x={hover.x}
					y={hover.y}
					unit={p.unit}
					mode={p.mode}
				/>
			)}
			{menu && menu.node < tree.size && (
				<Menu
					label="Frame"
					x={menu.x}
					y={menu.y}
					onClose={() => setMenu(null)}
					entries={entriesOf(p, menu.node)}
				/>
			)}
		</div>
	);
}

function labeller(p: PanelProps): (node: number) => string {
	const { layout, tree } = p.prepared;
	return (node) => {
		const name = shortened(nameOf(tree, node), 300);
		const badge = layout.badge[node]! > 0 ? ` (${layout.badge[node]})` : '';
		return `${name}${badge}  ${valueText(p, node)}`;
	};
}

function valueText(p: PanelProps, node: number): string {
	const { tree } = p.prepared;
	if (p.mode === 'single') return format(tree.total[node]!, p.unit);
	const before = tree.before!.total[node]!;
	const now = tree.total[node]!;
	if (before === 0) return `new ${format(now, p.unit)}`;
	if (now === 0) return `gone ${format(before, p.unit)}`;
	if (p.mode === 'absolute') return formatChange(now - before, p.unit);
	const change = changeOf(tree, node, p.scaleBefore) * 100;
	return `${change > 0 ? '+' : ''}${change.toFixed(1)} %`;
}

/** What is new is hatched, what is gone outlined: nothing is said by colour alone. */
function marksOf({ tree }: Prepared) {
	const { before } = tree;
	if (!before) return null;
	return {
		fresh: Uint8Array.from({ length: tree.size }, (_, i) =>
			before.total[i] === 0 && tree.total[i]! > 0 ? 1 : 0,
		),
		gone: Uint8Array.from({ length: tree.size }, (_, i) =>
			before.total[i]! > 0 && tree.total[i] === 0 ? 1 : 0,
		),
	};
}

function entriesOf(p: PanelProps, node: number) {
	const { tree, groups } = p.prepared;
	const name = nameOf(tree, node);
	const place = placeOf(tree.frames, tree.name[node]!);
	const head = groups.head[node]!;
	const path = () =>
		pathTo(tree, node)
			.slice(1)
			.map((i) => nameOf(tree, i));
	return [
		{ title: 'Focus block', hint: 'Enter', act: () => p.onFocus(node) },
		...(node === 0
			? []
			: [
					{ title: 'Sandwich view', hint: 's', act: () => p.onSandwich(name) },
					{ title: 'Search this', act: () => p.onSearch(name) },
					{ title: 'Hide frame', act: () => p.onHide(name) },
					null,
					{ title: 'Copy name', act: () => copyText(name, 'the name') },
					...(place ? [{ title: 'Copy file:line', act: () => copyText(place, 'the place') }] : []),
					{ title: 'Copy stack', act: () => copyText(path().join('\n'), 'the stack') },
				]),
		...(groups.size[head]! > 1
			? [
					null,
					{
						title:
							p.prepared.layout.badge[head]! > 0
								? `Expand group of ${groups.size[head]}`
								: `Collapse group of ${groups.size[head]}`,
						act: () => p.onToggleGroup(head),
					},
				]
			: []),
	];
}
