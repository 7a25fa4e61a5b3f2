#!/usr/bin/env node
import { run } from './run.ts';

const { argv, env, stdin, stdout, stderr } = process;

// The reader of a pipe may close it early, as in `tidemark users list | head`.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await run(argv.slice(2), { env, folder: process.cwd(), stdin, stdout, stderr });
