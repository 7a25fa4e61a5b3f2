import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const OUTPUT = 'packages/protocol/dist/typebox.js';

/**
 * Replaces the compiled `protocol/src/typebox.ts` by one file that contains the modules of TypeBox. What the compiler made
 * works as well, and takes longer to load.
 */
export async function bundleTypebox(root) {
  const file = join(root, OUTPUT);
  if (!existsSync(file) || !/from 'typebox/.test(readFileSync(file, 'utf8'))) return;
  // Not installed yet when the setup of a fresh clone loads this file.
  const { rolldown } = await import('rolldown');
  const licence = readFileSync(join(root, 'node_modules/typebox/license'), 'utf8');
  const bundle = await rolldown({ input: file, platform: 'node' });
  await bundle.write({ file, format: 'esm', banner: `/*! TypeBox\n\n${licence}*/` });
  await bundle.close();
}
