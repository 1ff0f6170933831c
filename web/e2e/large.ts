/* A graph of 50,000 nodes: 1,250 branches, each 40 functions deep. */
export const NODES = 50_000;
const DEPTH = 40;

export function largeStacks(): string {
	const lines: string[] = [];
	for (let branch = 0; branch * DEPTH < NODES; branch++) {
		let stack = `main;b${branch}`;
		for (let i = 1; i < DEPTH; i++) {
			stack += `;m${branch % 9}.f_${i}`;
			lines.push(`${stack} ${1 + ((branch * 31 + i * 17) % 97)}\n`);
		}
	}
	return lines.join('');
}
