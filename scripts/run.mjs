import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { become } from './processes.mjs';
import { setupOrExit } from './setup.mjs';

const [file, ...args] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: node scripts/run.mjs <built file> [arguments]\n');
  process.exit(64);
}
await setupOrExit();
if (!existsSync(resolve(file))) {
  process.stderr.write(`tidemark: there is no ${file}; is its source in a project that tsconfig.json names?\n`);
  process.exit(66);
}
await become(file, args);
