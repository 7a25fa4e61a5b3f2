import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { build } from 'vite';

const PAGE = fileURLToPath(new URL('../page', import.meta.url));

/** A slow machine is no reason for a warning. */
const QUIET = { checks: { pluginTimings: false, bundlerTimings: false } };

/** Path → content. */
export type Files = ReadonlyMap<string, string | Uint8Array>;

/** Bundles the page into memory. It takes a second or two, so it is done at every start, and nothing can be stale. */
export async function buildPage(): Promise<Files> {
  const result = await build({
    root: PAGE,
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    build: { write: false, assetsInlineLimit: 0, modulePreload: { polyfill: false }, rolldownOptions: QUIET },
  });
  if (!('output' in result)) throw new Error('vite did not return one bundle');
  return new Map(
    result.output.map((file) => [`/${file.fileName}`, file.type === 'chunk' ? file.code : file.source] as const),
  );
}
