/* How the server fares. */
import { askServer, type ServerState } from '../api/server';
import { useAnswer } from '../state/answer';
import type { Params } from '../state/location';
import { ago, day, span, stamp } from '../state/time';
import { exact, format, percent } from '../state/units';
import { useEffect } from 'preact/hooks';
import { PageHead } from '../ui/page_head';
import { Failure, Waiting } from '../ui/states';
import { shortened } from '../ui/text';

const POLL_MS = 10_000;

export function ServerPage(_: { params: Params }) {
	const asked = useAnswer('server', askServer);
	useEffect(() => {
		const timer = setInterval(() => document.visibilityState === 'visible' && asked.again(), POLL_MS);
		return () => clearInterval(timer);
	}, [asked.again]);
	return (
		<main class="page">
			<PageHead title="Server">
				<button type="button" onClick={asked.again}>
					Ask again
				</button>
			</PageHead>
			<Failure asked={asked} what="the server's state" />
			{!asked.data && <Waiting asked={asked} what="the server's state" />}
			{asked.data && <State s={asked.data} />}
		</main>
	);
}

function State({ s }: { s: ServerState }) {
	const skew = s.now_ms - Date.now();
	return (
		<>
			{Math.abs(skew) > 5000 && (
				<p class="warn card">
					The server's clock is {span(Math.abs(skew))} {skew > 0 ? 'ahead of' : 'behind'} this
					browser's: “now” means the server's.
				</p>
			)}
			<div class="tiles">
				<Tile title="Version" value={s.version} note={s.revision} />
				<Tile
					title="Up for"
					value={span(s.now_ms - s.started_ms)}
					note={`since ${stamp(s.started_ms)}`}
				/>
				<Tile
					title="Profiles in the last minute"
					value={s.ingest.profiles_last_minute.toLocaleString('en')}
					note={`${s.ingest.profiles.toLocaleString('en')} since the start, ${s.ingest.deduplicated.toLocaleString('en')} of them sent twice`}
				/>
				<Tile
					title="On disk"
					value={format(s.disk.bytes, 'bytes')}
					note={`${percent(s.disk.bytes, s.disk.max_bytes)} of ${format(s.disk.max_bytes, 'bytes')}; write-ahead log ${format(s.disk.wal_bytes, 'bytes')}`}
				/>
				<Tile
					title="Kept for"
					value={s.disk.retention_ms === null ? 'ever' : span(s.disk.retention_ms)}
					note={
						s.disk.damaged_windows > 0
							? `${s.disk.damaged_windows} windows are damaged: vramscope verify`
							: 'no damaged window'
					}
				/>
				<Tile
					title="Memory"
					value={format(s.memory.used_bytes, 'bytes')}
					note={`of ${format(s.memory.limit_bytes, 'bytes')}, ${format(s.memory.cache_bytes, 'bytes')} of it caches`}
				/>
				<Tile
					title="Waiting writes"
					value={s.queue.length.toLocaleString('en')}
					note={format(s.queue.bytes, 'bytes')}
				/>
			</div>
			<Senders s={s} />
			<Windows s={s} />
			<Errors s={s} />
		</>
	);
}

function Tile({ title, value, note }: { title: string; value: string; note: string }) {
	return (
		<div class="card tile">
			<div class="quiet">{title}</div>
			<div class="tile-value">{value}</div>
			<div class="quiet small">{note}</div>
		</div>
	);
}

function Senders({ s }: { s: ServerState }) {
	return (
		<div class="card table-card">
			<table class="list">
				<caption>Who has sent profiles</caption>
				<thead>
					<tr>
						<th scope="col">From</th>
						<th scope="col">Program</th>
						<th scope="col">Route</th>
						<th scope="col" class="r">
							Last
						</th>
						<th scope="col" class="r">
							Writes
						</th>
					</tr>
				</thead>
				<tbody>
					{s.senders.map((one, i) => (
						<tr key={i}>
							<th scope="row">
								<code>{shortened(one.sender, 60)}</code>
							</th>
							<td>{shortened(one.user_agent, 80)}</td>
							<td>
								<code>{shortened(one.route, 60)}</code>
							</td>
							<td class="r nowrap" title={stamp(one.last_ms)}>
								{ago(one.last_ms, s.now_ms)}
							</td>
							<td class="r">{one.writes.toLocaleString('en')}</td>
						</tr>
					))}
				</tbody>
			</table>
			{s.senders.length === 0 && <p class="quiet pad">Nobody since the start.</p>}
		</div>
	);
}

function Windows({ s }: { s: ServerState }) {
	const most = Math.max(1, ...s.disk.windows.map((w) => w.bytes));
	return (
		<div class="card table-card">
			<table class="list windows">
				<caption>Days in the store</caption>
				<thead>
					<tr>
						<th scope="col">Day (UTC)</th>
						<th scope="col">Size</th>
						<th scope="col" class="r">
							Bytes
						</th>
					</tr>
				</thead>
				<tbody>
					{s.disk.windows.map((w) => (
						<tr key={w.day_ms}>
							<th scope="row">
								{new Date(w.day_ms).toISOString().slice(0, 10) || day(w.day_ms)}
							</th>
							<td>
								<span class="gauge">
									<span style={{ width: `${(w.bytes / most) * 100}%` }} />
								</span>
							</td>
							<td class="r" title={exact(w.bytes, 'bytes')}>
								{format(w.bytes, 'bytes')}
							</td>
						</tr>
					))}
				</tbody>
			</table>
			{s.disk.windows.length === 0 && <p class="quiet pad">Nothing is stored yet.</p>}
		</div>
	);
}

function Errors({ s }: { s: ServerState }) {
	return (
		<div class="card table-card">
			<table class="list">
				<caption>Last warnings and errors</caption>
				<thead>
					<tr>
						<th scope="col">Time</th>
						<th scope="col">Level</th>
						<th scope="col">What</th>
					</tr>
				</thead>
				<tbody>
					{s.errors.map((e, i) => (
						<tr key={i}>
							<th scope="row" class="nowrap">
								{stamp(e.time_ms)}
							</th>
							<td class={e.level === 'error' ? 'bad' : 'warn'}>{e.level}</td>
							<td>
								<code>{shortened(e.message, 400)}</code>
							</td>
						</tr>
					))}
				</tbody>
			</table>
			{s.errors.length === 0 && <p class="quiet pad">None.</p>}
		</div>
	);
}
