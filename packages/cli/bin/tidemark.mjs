#!/usr/bin/env node
import { existsSync } from 'node:fs';

// npm links this file when it installs a checkout, before anything is built.
const main = new URL('../dist/main.js', import.meta.url);
if (existsSync(main)) await import(main);
else {
  process.stderr.write('tidemark: this checkout is not built yet; run npm run setup in it\n');
  process.exitCode = 1;
}
