import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

const source = (name: string) => fileURLToPath(new URL(`./packages/${name}/src/index.ts`, import.meta.url));

// Tests run on the sources, so a failure points at the line someone wrote. Only worker threads and
// child processes use what was built, because Node 20 cannot load TypeScript by itself.
export default defineConfig({
  resolve: {
    alias: ['protocol', 'core', 'store-embedded', 'server', 'testing'].map((name) => ({
      find: `@tidemark/${name}`,
      replacement: source(name),
    })),
  },
  test: {
    include: ['packages/*/src/**/*.test.ts', 'scripts/**/*.test.mjs', 'bench/src/**/*.test.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
