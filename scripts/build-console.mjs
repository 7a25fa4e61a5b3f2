import { join } from 'node:path';
import { buildOnce } from './built-files.mjs';
import { isEntry, ROOT } from './processes.mjs';
import { sourceAliases } from './source-aliases.mjs';

/** What the console is made of, relative to the root. */
const INPUTS = [
  'packages/console',
  'packages/backend/src',
  'packages/client/src',
  'packages/protocol/src',
  'scripts/build-console.mjs',
  'scripts/built-files.mjs',
  'scripts/source-aliases.mjs',
  'package-lock.json',
];
/** Inside the server package, which is published with it. */
const OUTPUT = 'packages/server/console';

/** Builds the web console unless its inputs are those of the last build. Returns whether it was built. */
export async function buildConsole(root = ROOT) {
  const output = join(root, OUTPUT);
  return buildOnce({ root, inputs: INPUTS, output, build: () => bundle(root, output) });
}

async function bundle(root, output) {
  const { build } = await import('vite');
  const { default: react } = await import('@vitejs/plugin-react');
  await build({
    root: join(root, 'packages/console'),
    base: '/console/',
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    // From the sources, so that the compiler can run at the same time.
    resolve: { alias: sourceAliases(root) },
    build: {
      outDir: output,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 1_000,
      // A slow machine is no reason for a warning.
      rolldownOptions: { checks: { pluginTimings: false, bundlerTimings: false } },
    },
  });
}

if (isEntry(import.meta.url)) await buildConsole();
