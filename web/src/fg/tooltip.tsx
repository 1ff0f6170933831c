/* What is said of a node beside the pointer, and aloud for the cursor. */
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { exact, format, formatChange, percent } from '../state/units';
import { shortened } from '../ui/text';
import { KIND_TITLES, placeOf } from './frames';
import type { Layout } from './layout';
import { nameOf, type Tree } from './tree';

export interface TipProps {
	readonly layout: Layout;
	readonly node: number;
	readonly x: number;
	readonly y: number;
	readonly unit: string;
	readonly mode: 'single' | 'absolute' | 'normalised';
}

const GAP = 14;

export function Tooltip(p: TipProps) {
	const box = useRef<HTMLDivElement>(null);
	const [place, setPlace] = useState({ left: p.x + GAP, top: p.y + GAP });
	useLayoutEffect(() => {
		const size = box.current!.getBoundingClientRect();
		const left = p.x + GAP + size.width > innerWidth ? Math.max(4, p.x - GAP - size.width) : p.x + GAP;
		const top = p.y + GAP + size.height > innerHeight ? Math.max(4, p.y - GAP - size.height) : p.y + GAP;
		setPlace({ left, top });
	}, [p.x, p.y, p.node]);
	const { tree } = p.layout;
	const name = tree.name[p.node]!;
	const where = placeOf(tree.frames, name);
	const badge = p.layout.badge[p.node]!;
	return (
		<div
			class="tooltip"
			ref={box}
			style={{ left: `${place.left}px`, top: `${place.top}px` }}
			aria-hidden="true">
			<div class="tooltip-name">
				<bdi>{shortened(nameOf(tree, p.node))}</bdi>
			</div>
			<div class="tooltip-where">
				{KIND_TITLES[tree.frames.kinds[name] ?? 'other']}
				{where && ` · ${shortened(where, 120)}`}
			</div>
			{p.mode === 'single' ? <Single p={p} tree={tree} /> : <Sides p={p} tree={tree} />}
			{badge > 0 && <div class="quiet">stands for {badge} frames that only pass the call on</div>}
		</div>
	);
}

function Single({ p, tree }: { p: TipProps; tree: Tree }) {
	const parent = tree.parent[p.node]!;
	const [total, self] = [tree.total[p.node]!, tree.self[p.node]!];
	return (
		<table>
			<tbody>
				<tr>
					<th>Total</th>
					<td>{format(total, p.unit)}</td>
					<td class="quiet">{exact(total, p.unit)}</td>
				</tr>
				<tr>
					<th>Self</th>
					<td>{format(self, p.unit)}</td>
					<td class="quiet">{exact(self, p.unit)}</td>
				</tr>
				<tr>
					<th>Of all</th>
					<td>{percent(total, tree.total[0]!)}</td>
					<td />
				</tr>
				{parent >= 0 && (
					<tr>
						<th>Of its caller</th>
						<td>{percent(total, tree.total[parent]!)}</td>
						<td />
					</tr>
				)}
			</tbody>
		</table>
	);
}

function Sides({ p, tree }: { p: TipProps; tree: Tree }) {
	const before = tree.before!;
	const rows: [string, number, number][] = [
		['Total', before.total[p.node]!, tree.total[p.node]!],
		['Self', before.self[p.node]!, tree.self[p.node]!],
	];
	return (
		<table>
			<thead>
				<tr>
					<th />
					<th>before</th>
					<th>now</th>
					<th>change</th>
				</tr>
			</thead>
			<tbody>
				{rows.map(([title, was, is]) => (
					<tr key={title}>
						<th>{title}</th>
						<td>{format(was, p.unit)}</td>
						<td>{format(is, p.unit)}</td>
						<td>{formatChange(is - was, p.unit)}</td>
					</tr>
				))}
				<tr>
					<th>Of all</th>
					<td>{percent(before.total[p.node]!, before.total[0]!)}</td>
					<td>{percent(tree.total[p.node]!, tree.total[0]!)}</td>
					<td />
				</tr>
			</tbody>
		</table>
	);
}

/** One sentence for the live region. */
export function spoken(layout: Layout, node: number, unit: string): string {
	const { tree } = layout;
	const sides = tree.before ? `before ${format(tree.before.total[node]!, unit)}, now ` : 'total ';
	return (
		`${shortened(nameOf(tree, node), 160)}, self ${format(tree.self[node]!, unit)}, ${sides}${format(tree.total[node]!, unit)}, ` +
		`${percent(tree.total[node]!, tree.total[0]!)}, level ${layout.row[node]! + 1}`
	);
}
