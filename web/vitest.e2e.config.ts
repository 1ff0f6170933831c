import { defineConfig } from 'vitest/config';

// One browser at a time: times are measured.
export default defineConfig({
	test: {
		include: ['e2e/**/*.e2e.ts'],
		environment: 'node',
		pool: 'forks',
		fileParallelism: false,
		testTimeout: 600_000,
		hookTimeout: 600_000,
		teardownTimeout: 10_000,
	},
});
