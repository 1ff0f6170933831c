import { defineConfig } from 'vitest/config';

// The same sources give the same files: no dates, no source maps, one script and one style sheet.
export default defineConfig({
	base: './',
	oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
	build: {
		target: 'es2022',
		sourcemap: false,
		modulePreload: false,
		assetsInlineLimit: 0,
		chunkSizeWarningLimit: 250,
		reportCompressedSize: false,
	},
	test: { include: ['test/**/*.test.ts'], environment: 'node' },
});
