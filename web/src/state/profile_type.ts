/*
 * What the words of a profile type mean to a reader. Senders of different versions name GPU memory
 * differently: all of these names stand under one heading.
 */

export interface TypeParts {
	readonly name: string;
	readonly sampleType: string;
	readonly unit: string;
}

export function partsOf(type: string): TypeParts {
	const [name = '', sampleType = '', unit = ''] = type.split(':');
	return { name, sampleType, unit };
}

const LIVE = /^(inuse_(space|objects)|live|goroutines?)$/;

/** What is there at a time, which is no sum over a range. */
export const isLive = (type: string) => LIVE.test(partsOf(type).sampleType);

/** Of CUDA by its name; the collector's own types are known by a label, and this is not asked of them. */
export function isGpuType(type: string): boolean {
	const { name, sampleType, unit } = partsOf(type);
	return (sampleType === 'malloc' && unit === 'bytes') || name.startsWith('gpu_memory');
}

const WORDS: Record<string, string> = {
	inuse_space: 'memory live',
	alloc_space: 'memory allocated',
	inuse_objects: 'blocks live',
	alloc_objects: 'allocations',
	malloc: 'GPU memory allocated',
	cpu: 'CPU time',
	wall: 'wall time',
	samples: 'samples',
	goroutine: 'goroutines',
	peak_space: 'memory at its peak',
	requested_space: 'memory asked for in vain',
	failures: 'failed calls',
	contentions: 'contentions',
	delay: 'delay',
};

export function titleOfType(type: string): string {
	const { name, sampleType } = partsOf(type);
	const words = WORDS[sampleType] ?? sampleType.replace(/_/g, ' ');
	const plain = ['memory', 'process_cpu', 'wall'].includes(name) || sampleType === 'malloc';
	return plain ? words : `${name}: ${words}`;
}

export const GPU_LIVE = 'memory:inuse_space:bytes:space:bytes';
export const GPU_ALLOCATED = 'memory:alloc_space:bytes:space:bytes';

/** What is shown of a service when nobody says: what costs, before what the collector tells beside it. */
export function firstType(types: readonly string[]): string | undefined {
	const major = types.filter(
		(type) => !partsOf(type).name.startsWith('gpu_memory') && partsOf(type).unit !== 'count',
	);
	return (
		major.find((type) => !isLive(type) && partsOf(type).name !== 'memory') ??
		major.find(isLive) ??
		major[0] ??
		types[0]
	);
}
