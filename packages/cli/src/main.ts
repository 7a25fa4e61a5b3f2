#!/usr/bin/env node
import { findBundle } from './find-bundle.ts';

const { argv, env, stdin, stdout, stderr } = process;

// The reader of a pipe may close it early, as in `tidemark users list | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

const bundle = findBundle();
const { run }: typeof import('./run.ts') = await (bundle === null ? import('./run.ts') : import(bundle));
process.exitCode = await run(argv.slice(2), { env, folder: process.cwd(), stdin, stdout, stderr });
