#!/usr/bin/env node
import { run } from './run.ts';

const { argv, env, stdin, stdout, stderr } = process;

// Whoever reads the output may have seen enough, as `tidemark users list | head` has.
stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await run(argv.slice(2), { env, folder: process.cwd(), stdin, stdout, stderr });
