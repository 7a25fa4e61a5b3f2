import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { setup } from './setup.mjs';

const PARENT_CHECK_MS = 250;

const [file, ...args] = process.argv.slice(2);
endWithNpm();
await setup();
if (file === undefined || !existsSync(file)) {
  process.stderr.write(`tidemark: there is no ${file}\nusage: node scripts/run.mjs <built file> [arguments]\n`);
  process.exit(64);
}
// The program runs in this very process: signals, exit code and terminal are its own.
process.argv = [process.execPath, resolve(file), ...args];
await import(pathToFileURL(resolve(file)).href);

/**
 * A SIGTERM for `npm start` ends npm and its shell, but the shell does not pass it on: the server would run on unnoticed.
 * So a program that npm has started ends when its parent is gone.
 */
function endWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    process.kill(process.pid, 'SIGTERM');
  }, PARENT_CHECK_MS);
  watch.unref();
}
