/* A small line without axes, of a table's cell. */
const [WIDTH, HEIGHT] = [120, 24];

export function Sparkline({ values, title }: { values: readonly (number | null)[]; title: string }) {
	const most = Math.max(1e-9, ...values.map((v) => v ?? 0));
	const step = WIDTH / Math.max(1, values.length - 1);
	const runs: string[] = [];
	let run = '';
	values.forEach((value, i) => {
		if (value === null) {
			if (run) runs.push(run);
			run = '';
			return;
		}
		const y = HEIGHT - 1.5 - (value / most) * (HEIGHT - 3);
		run += `${run ? 'L' : 'M'}${(i * step).toFixed(1)} ${y.toFixed(1)}`;
	});
	if (run) runs.push(run);
	return (
		<svg
			class="sparkline"
			viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
			width={WIDTH}
			height={HEIGHT}
			role="img"
			aria-label={title}
			preserveAspectRatio="none">
			<path d={runs.join('')} />
		</svg>
	);
}
