/* How a flame graph is read: beside the graph in short, and on the help page. */

export function Reading({ direction }: { direction: 'icicle' | 'flame' }) {
	const [start, towards] = direction === 'icicle' ? ['top', 'down'] : ['bottom', 'up'];
	return (
		<>
			<p>
				A bar is a function. Its width is how much of what is measured flows through it: bytes of
				memory, time. The {start} bar is everything; going {towards}, each bar was called by the one
				before it.
			</p>
			<dl>
				<dt>Total</dt>
				<dd>What a function and all that it called hold.</dd>
				<dt>Self</dt>
				<dd>What it holds itself. A large total with a self of zero only passes the call on.</dd>
				<dt>Where to begin</dt>
				<dd>
					At the widest bars that nothing hangs on any more. Then walk back towards the {start}: the
					first function that you know is usually the one that can be changed.
				</dd>
			</dl>
		</>
	);
}

export function Symbols() {
	return (
		<dl>
			<dt>
				<code>Class.method</code>
			</dt>
			<dd>
				a method; <code>Class.__init__</code> is a constructor, a single name a function of a module
			</dd>
			<dt>
				<code>&lt;module&gt;</code>
			</dt>
			<dd>the top level of a script</dd>
			<dt>
				<code>&lt;interpreter trampoline&gt;</code>, <code>_PyEval_…</code>
			</dt>
			<dd>
				the Python interpreter itself; folded away by default where GPU memory is shown,{' '}
				<em>All frames</em> shows it
			</dd>
			<dt>
				<code>cuMemAlloc_v2</code> and the like
			</dt>
			<dd>the call of the CUDA driver that took the memory</dd>
			<dt>a hexadecimal address</dt>
			<dd>native code without a name: a library without symbols</dd>
		</dl>
	);
}

export function Meaning() {
	return (
		<dl>
			<dt>Allocated</dt>
			<dd>the sum of all allocations in the range, whether they were given back or not</dd>
			<dt>Live</dt>
			<dd>allocated and not yet given back at that moment: this is what fills a GPU</dd>
			<dt>Before profiling began</dt>
			<dd>
				what a process held already stands as one frame,{' '}
				<code>[allocated before profiling started]</code>: nobody saw who took it
			</dd>
			<dt>Frameworks that keep memory</dt>
			<dd>
				PyTorch and vLLM take large blocks and deal them out themselves: the graph shows who made the
				pool grow, not each tensor
			</dd>
		</dl>
	);
}

export const SHORTCUTS: readonly [string, string][] = [
	['/', 'search'],
	['n, N', 'next hit, the one before'],
	['1, 2, 3', 'table, graph, both'],
	['i', 'icicle or flame'],
	['e, c', 'expand or collapse all groups'],
	['0', 'reset focus, search and hidden frames'],
	['?', 'these keys'],
	['↑ ↓ ← →', 'in the graph: caller, largest callee, neighbours'],
	['Enter', 'focus the frame'],
	['Backspace', 'focus its caller'],
	['Esc', 'no focus; closes what is open'],
	['s', 'sandwich view of the frame'],
	['m', 'menu of the frame'],
	['Shift + drag', 'zoom to a range of the graph'],
];

export function Shortcuts() {
	return (
		<table class="list keys">
			<thead>
				<tr>
					<th scope="col">Key</th>
					<th scope="col">Does</th>
				</tr>
			</thead>
			<tbody>
				{SHORTCUTS.map(([key, what]) => (
					<tr key={key}>
						<th scope="row">
							<kbd>{key}</kbd>
						</th>
						<td>{what}</td>
					</tr>
				))}
			</tbody>
		</table>
	);
}
