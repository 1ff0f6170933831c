/*
 * What the tests look at: a node with an inference engine that grows, a trainer that comes and goes,
 * a call that found no memory, and a service of CPU time. Every number is written here.
 */
import type { Frame, Profile, Sample } from './pprof';
import type { Program, Series } from './program';

export const MIB = 2 ** 20;
export const GIB = 2 ** 30;
export const INTERVAL_MS = 15_000;
export const TICKS = 120;
export const HOST = 'gpu-node-1';

/** The last tick is the newest one before now. */
export const LAST = Math.floor(Date.now() / INTERVAL_MS) * INTERVAL_MS - INTERVAL_MS;
export const tickMs = (tick: number) => LAST - (TICKS - 1 - tick) * INTERVAL_MS;

const PYTHON = '/usr/bin/python3.12';
const CUDA = '/usr/lib/x86_64-linux-gnu/libcuda.so.550.54';
const TORCH = '/opt/venv/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so';
const VLLM = '/opt/venv/lib/python3.12/site-packages/vllm';
const py = (name: string, file: string, line: number): Frame => ({
	name,
	file: `${VLLM}/${file}`,
	line,
	mapping: '',
});
const EVAL: Frame = { name: '_PyEval_EvalFrameDefault', mapping: PYTHON };
const ALLOC: Frame = { name: 'cuMemAlloc_v2', mapping: CUDA };
const POOL: Frame = { name: 'c10::cuda::CUDACachingAllocator::malloc', mapping: TORCH };

const ENGINE = [
	py('<module>', 'entrypoints/serve.py', 14),
	EVAL,
	py('EngineCore.run_engine_core', 'v1/engine/core.py', 690),
	EVAL,
];
export const STACKS = {
	weights: [
		...ENGINE,
		py('GPUModelRunner.load_model', 'v1/worker/gpu_model_runner.py', 1832),
		py('LlamaMLP.__init__', 'model_executor/models/llama.py', 71),
		POOL,
		ALLOC,
	],
	cache: [
		...ENGINE,
		py('EngineCore._initialize_kv_caches', 'v1/engine/core.py', 171),
		py('GPUModelRunner._allocate_kv_cache_tensors', 'v1/worker/gpu_model_runner.py', 2874),
		POOL,
		ALLOC,
	],
	leak: [
		...ENGINE,
		py('Scheduler.schedule', 'v1/core/sched/scheduler.py', 214),
		py('BlockPool.get_new_blocks', 'v1/core/block_pool.py', 88),
		ALLOC,
	],
	train: [
		{ name: '<module>', file: '/srv/train.py', line: 12 },
		EVAL,
		{ name: 'Trainer.step', file: '/srv/train.py', line: 88 },
		POOL,
		ALLOC,
	],
	spike: [
		{ name: '<module>', file: '/srv/train.py', line: 12 },
		EVAL,
		{ name: 'Trainer.evaluate', file: '/srv/train.py', line: 140 },
		POOL,
		ALLOC,
	],
};

export const CACHE_FROM = 20; // ticks
export const [TRAIN_FROM, TRAIN_TO, SPIKE_AT, OOM_AT] = [30, 100, 50, 90];
export const weights = 14 * GIB;
export const cacheAt = (tick: number) => (tick >= CACHE_FROM ? 40 * GIB : 0);
export const leakAt = (tick: number) => 32 * MIB * tick;
export const engineAt = (tick: number) => weights + cacheAt(tick) + leakAt(tick);
export const trainAt = (tick: number) =>
	tick >= TRAIN_FROM && tick <= TRAIN_TO ? 6 * GIB + (tick === SPIKE_AT ? 4 * GIB : 0) : 0;
export const REQUESTED = 24 * GIB;

const HEAP = ['alloc_objects/count', 'alloc_space/bytes', 'inuse_objects/count', 'inuse_space/bytes'];
const process = (pid: string, service: string, more: Record<string, string> = {}) => ({
	service_name: service,
	hostname: HOST,
	pid,
	proc_comm: 'python3',
	...more,
});
export const LLM = process('4711', 'vllm-engine', {
	k8s_namespace: 'inference',
	k8s_podName: 'vllm-engine-0',
});
export const TRAINER = process('990', 'trainer', { k8s_namespace: 'research', k8s_podName: 'trainer-7f9c' });

function heap(
	labels: Record<string, string>,
	tick: number,
	held: readonly [readonly Frame[], number, number][],
): Series {
	const samples = held
		.filter(([, live, allocated]) => live > 0 || allocated > 0)
		.map(([stack, live, allocated]): Sample => ({
			stack,
			values: [allocated > 0 ? 1 : 0, allocated, live > 0 ? 1 : 0, live],
		}));
	return {
		labels: { ...labels, __name__: 'memory', cuda_class: 'device', gpu: '0' },
		profiles: [{ types: HEAP, period: 'space/bytes', timeMs: tickMs(tick), samples }],
	};
}

const gauge = (
	name: string,
	labels: Record<string, string>,
	type: string[],
	timeMs: number,
	samples: Sample[],
): Series => ({
	labels: { __name__: name, ...labels },
	profiles: [{ types: type, period: 'space/bytes', timeMs, samples }],
});

function* tick(n: number): Generator<Series> {
	yield heap(LLM, n, [
		[STACKS.weights, weights, n === 0 ? weights : 0],
		[STACKS.cache, cacheAt(n), n === CACHE_FROM ? 40 * GIB : 0],
		[STACKS.leak, leakAt(n), n > 0 ? 32 * MIB : 0],
	]);
	if (trainAt(n) > 0) {
		yield heap(TRAINER, n, [
			[STACKS.train, 6 * GIB, n === TRAIN_FROM ? 6 * GIB : 0],
			[STACKS.spike, n === SPIKE_AT ? 4 * GIB : 0, n === SPIKE_AT ? 4 * GIB : 0],
		]);
	}
	yield gauge(
		'gpu_memory_device',
		{ service_name: 'vramscope-gpu', hostname: HOST, gpu: '0' },
		['used_space/bytes', 'total_space/bytes'],
		tickMs(n),
		[{ stack: [{ name: '[device]' }], values: [engineAt(n) + trainAt(n) + 600 * MIB, 80 * GIB] }],
	);
}

/** Both profiles have the time of the event. */
function* oom(): Generator<Series> {
	const timeMs = tickMs(OOM_AT) - 2000;
	const at = { gpu: '0' };
	yield gauge(
		'gpu_memory_oom',
		{
			...TRAINER,
			...at,
			cuda_class: 'device',
			cuda_error: 'CUDA_ERROR_OUT_OF_MEMORY',
			recovered: 'false',
		},
		['requested_space/bytes', 'device_used_space/bytes', 'device_total_space/bytes'],
		timeMs,
		[{ stack: STACKS.spike, values: [REQUESTED, 63 * GIB, 80 * GIB] }],
	);
	yield gauge('gpu_memory_peak', { ...LLM, ...at, reason: 'oom' }, ['peak_space/bytes'], timeMs, [
		{ stack: STACKS.weights, values: [weights] },
		{ stack: STACKS.cache, values: [40 * GIB] },
	]);
	yield gauge('gpu_memory_peak', { ...TRAINER, ...at, reason: 'oom' }, ['peak_space/bytes'], timeMs, [
		{ stack: STACKS.train, values: [6 * GIB] },
	]);
}

const CPU = 'main;handle;decode 30\nmain;handle;encode 50\nmain;idle 20\n'; // at 100 Hz a sample is 10 ms

export const HOSTILE = [
	'<img src=x onerror="window.__hurt=1">',
	'"><script>window.__hurt=1</script>',
	'abc\u202egpj.exe',
	`long${'x'.repeat(9996)}`,
	"'; DROP TABLE x; --",
	'${7*7}',
];

export async function fill(program: Program): Promise<void> {
	for (let n = 0; n < TICKS; n += 10)
		await program.push(Array.from({ length: 10 }, (_, i) => [...tick(n + i)]).flat());
	await program.push([...oom()]);
	for (let k = 1; k <= 5; k++) await program.ingest('shop-api.cpu{region=eu}', CPU, LAST - k * 60_000);
	await program.ingest('shop-api.cpu{region=us}', 'main;handle;encode 10\n', LAST - 90_000);
	const hostile: Profile = {
		types: ['inuse_space/bytes'],
		period: 'space/bytes',
		timeMs: LAST,
		samples: HOSTILE.map((name, i) => ({
			stack: [{ name: 'main' }, { name, file: `${name.slice(0, 60)}.py` }],
			values: [100 + i],
		})),
	};
	await program.push([
		{
			labels: { __name__: 'memory', service_name: HOSTILE[0]!, [`label`]: HOSTILE[1]! },
			profiles: [hostile],
		},
	]);
}
