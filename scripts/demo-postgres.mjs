import { installPrograms, PROGRAMS } from './programs.mjs';

// The demo with a database on Postgres: a server of its own, or the one that DEMO_POSTGRES_URL names.
const postgres = PROGRAMS.filter(({ names }) => names.includes('postgres'));
const isGiven = (process.env.DEMO_POSTGRES_URL ?? '') !== '';
const missing = isGiven ? null : await installPrograms(undefined, postgres, []);
if (missing !== null) {
  process.stderr.write(`tidemark: ${missing}\n  or name a server in DEMO_POSTGRES_URL=postgres://…\n`);
  process.exit(1);
}
process.argv = [...process.argv.slice(0, 2), 'examples/demo/dist/main.js', '--postgres'];
await import('./run.mjs');
