import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startDemo } from './start-demo.ts';

const PORT_DEFAULT = 9393;

// Every start is a new beginning: the data is in a temporary folder, which goes with the demo.
const folder = mkdtempSync(join(tmpdir(), 'tidemark-demo-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const port = Number(process.env.DEMO_PORT ?? PORT_DEFAULT);
const isOnPostgres = process.argv.includes('--postgres');
const demo = await startDemo({ folder, port, isOnPostgres }).catch((error: NodeJS.ErrnoException) => {
  const isTaken = error.code === 'EADDRINUSE';
  const hint = `port ${port} is taken; choose another one: DEMO_PORT=${port + 1} npm run ${isOnPostgres ? 'demo:postgres' : 'demo'}`;
  console.error(`demo: ${isTaken ? hint : error.stack}`);
  process.exit(1);
});
console.log(
  `The demo is at ${demo.url}
The console is at ${demo.tidemarkUrl}/console/ (log in as admin with ${demo.adminPassword})
Tidemark is at ${demo.tidemarkUrl}, ${demo.about}. Ctrl-C ends all.${
    demo.command === null ? '' : `\n\nChange rows in another terminal, and see it in the page:\n${demo.command}`
  }`,
);

let isStopping = false;
const stop = async () => {
  if (isStopping) return;
  isStopping = true;
  await demo.stop();
  process.exit(0);
};
process.once('SIGINT', stop);
process.once('SIGTERM', stop);
