/* Help: how to read what is shown, and which way leads from pressure to the line. */
import { Meaning, Reading, Shortcuts, Symbols } from '../help/reading';
import { linkTo } from '../state/location';
import { FirstSteps } from '../ui/first_steps';
import { PageHead } from '../ui/page_head';

export function HelpPage() {
	return (
		<main class="page prose">
			<PageHead title="Help" />
			<section class="card">
				<h2>From “the GPU is full” to the line</h2>
				<ol>
					<li>
						<a href={linkTo('gpu')}>GPU memory</a> shows who holds how much, over time. Click the
						moment that matters.
					</li>
					<li>
						The flame graph below shows what was live then. Begin at the widest leaves; choose{' '}
						<em>Python only</em> when you look for your own code.
					</li>
					<li>
						The frame's <code>file:line</code> is in the table; one click copies it.
					</li>
					<li>
						<em>Baseline ▾ → Mark as baseline</em>, change one setting, let it run again, then{' '}
						<em>Diff with baseline</em>.
					</li>
					<li>
						Where a call failed for want of memory, <a href={linkTo('oom')}>OOM events</a> has who
						held what at that very moment.
					</li>
				</ol>
			</section>
			<section class="card">
				<h2>How to read a flame graph</h2>
				<Reading direction="icicle" />
			</section>
			<section class="card">
				<h2>What the names mean</h2>
				<Symbols />
			</section>
			<section class="card">
				<h2>What the numbers mean</h2>
				<Meaning />
			</section>
			<section class="card">
				<h2>An example</h2>
				<p>
					An inference engine starts. Below <code>EngineCore.__init__</code> two wide bars part:{' '}
					<code>load_model</code>, 14 GiB, ends in the weights' layers, and stays.{' '}
					<code>_initialize_kv_caches</code>, 58 GiB, ends in{' '}
					<code>_allocate_kv_cache_tensors</code>: one function, one line, and the share of the GPU
					that a setting gives it. That is the place to change.
				</p>
			</section>
			<section class="card">
				<h2>Keys</h2>
				<Shortcuts />
			</section>
			<section class="card">
				<h2>How profiles get here</h2>
				<FirstSteps />
			</section>
		</main>
	);
}
