/* How a first profile gets here: with this server's own address filled in. */
import { useState } from 'preact/hooks';
import { addressOf } from '../api/http';
import { Command } from './states';

const WAYS = ['Collector', 'Inspektor Gadget', 'SDK or Alloy', 'curl'] as const;
type Way = (typeof WAYS)[number];

/** `waiting` where a page looks for the first profile meanwhile. */
export function FirstSteps({ waiting = 'no' }: { waiting?: 'yes' | 'no' }) {
	const [way, setWay] = useState<Way>('Collector');
	const url = addressOf('').href.replace(/\/$/, '');
	const host = new URL(url).host;
	return (
		<div class="first-steps">
			<div class="choice" role="tablist" aria-label="Ways to send profiles">
				{WAYS.map((name) => (
					<button
						type="button"
						role="tab"
						key={name}
						aria-selected={way === name}
						aria-controls="first-steps"
						onClick={() => setWay(name)}>
						{name}
					</button>
				))}
			</div>
			<div id="first-steps" role="tabpanel" aria-label={way}>
				{steps(way, url, host)}
			</div>
			{waiting === 'yes' && (
				<p class="quiet" role="status">
					<span class="spinner" aria-hidden="true" /> Waiting for the first profile: looked for
					every 5 seconds.
				</p>
			)}
		</div>
	);
}

function steps(way: Way, url: string, host: string) {
	switch (way) {
		case 'Collector':
			return (
				<>
					<p>
						On a machine with a GPU, as root: watches CUDA memory calls of all processes, without
						changing them.
					</p>
					<Command text={`vramscope collector -push.url=${url}`} />
					<p>Whether a machine can be watched, and what to do when not:</p>
					<Command text="vramscope doctor" />
				</>
			);
		case 'Inspektor Gadget':
			return (
				<>
					<p>
						Its <code>otel-profiles</code> exporter speaks OTLP over gRPC, without TLS, to this
						port.
					</p>
					<Command
						text={`exporters:\n  otlp:\n    endpoint: ${host}\n    tls:\n      insecure: true`}
					/>
				</>
			);
		case 'SDK or Alloy':
			return (
				<>
					<p>Every Pyroscope SDK takes this address as its server; Alloy as an endpoint.</p>
					<Command
						text={`pyroscope.write "vramscope" {\n  endpoint {\n    url = "${url}"\n  }\n}`}
					/>
				</>
			);
		default:
			return (
				<>
					<p>Any pprof file, gzip or not, or folded stacks:</p>
					<Command
						text={`curl --data-binary @profile.pb.gz '${url}/ingest?name=my-service&format=pprof'`}
					/>
					<Command
						text={`printf 'main;work 42\\n' | curl --data-binary @- '${url}/ingest?name=my-service'`}
					/>
				</>
			);
	}
}
