import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { ROOT } from './processes.mjs';

/** Prints every module that is loaded after it. */
const PRINT_MODULES = `
  import { register } from 'node:module';
  register('data:text/javascript,' + encodeURIComponent(\`
    import { writeSync } from 'node:fs';
    export async function load(url, context, next) { writeSync(1, url + '\\\\n'); return next(url, context); }
  \`));
`;

it('[PACK-7] a server loads TypeBox as one file, and none of its modules', async () => {
  const hook = `data:text/javascript,${encodeURIComponent(PRINT_MODULES)}`;
  const load = "await import('./packages/server/dist/compose.js'); process.exit(0);";
  const args = ['--import', hook, '--input-type=module', '--eval', load];
  const { stdout } = await promisify(execFile)(process.execPath, args, { cwd: ROOT, maxBuffer: 10_000_000 });
  const loaded = stdout.split('\n').filter((url) => url.includes('typebox'));
  expect(loaded).toEqual([expect.stringMatching(/\/packages\/protocol\/dist\/typebox\.js$/)]);
});
