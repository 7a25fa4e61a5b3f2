import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const PRELOAD = fileURLToPath(new URL('preload.mjs', import.meta.url));
const PASSWORD = 'kelp-forest-9341';
const READY = /is ready at (http:\/\/127\.0\.0\.1:[0-9]+)$/;

/**
 * Starts the server of a checkout on loopback and on the embedded store, in a process whose functions are recorded on
 * request. It ends with this process.
 *
 * @param {string} checkout
 * @param {string} folder for its data
 */
export async function startRecordedServer(checkout, folder) {
  const env = {
    ...{ PATH: process.env.PATH, HOME: folder, TIDEMARK_WAYS_CHECKOUT: checkout },
    ...{ TIDEMARK_ADMIN_PASSWORD: PASSWORD, TIDEMARK_LOG_LEVEL: 'error' },
    // On a slow machine, nothing may be refused or left out because it takes long.
    ...{ TIDEMARK_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX: '600000', TIDEMARK_BACKEND_PULL_WAIT_MS: '60000' },
  };
  const args = ['serve', '--port', '0', '--data', folder, '--log-format', 'json'];
  const options = { cwd: folder, env, execArgv: ['--import', PRELOAD], stdio: ['ignore', 'pipe', 'inherit', 'ipc'] };
  const child = fork(join(checkout, 'packages/cli/dist/main.js'), args, options);
  const ask = async (what) => {
    child.send(what);
    const [names] = await once(child, 'message', { signal: AbortSignal.timeout(60_000) });
    return names;
  };
  const url = await readyAt(child);
  return {
    url,
    password: PASSWORD,
    startRecording: () => ask('start'),
    stopRecording: () => ask('stop'),
    async stop() {
      const exited = once(child, 'exit');
      child.kill('SIGTERM');
      await exited;
    },
  };
}

async function readyAt(child) {
  for await (const line of createInterface({ input: child.stdout })) {
    const [, url] = READY.exec(line) ?? [];
    if (url !== undefined) return url;
  }
  throw new Error('the server did not start');
}
