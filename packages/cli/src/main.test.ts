import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';

// The built server in its own process. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

const children: ChildProcess[] = [];
let folder: TemporaryFolder;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await folder.remove();
});

function start(env: Record<string, string>) {
  // Hides the warning about running as root.
  const quiet = { TIDEMARK_LOG_LEVEL: 'error' };
  const settings = { TIDEMARK_DATA: folder.path, TIDEMARK_ADMIN_PASSWORD: 'kelp-forest-9341', ...quiet, ...env };
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const lines = createInterface({ input: child.stdout });
  return {
    firstLine: async () => String((await once(lines, 'line'))[0]),
    end: async (signal?: NodeJS.Signals) => {
      if (signal !== undefined) child.kill(signal);
      const [code, killedBy] = (await once(child, 'close')) as [number | null, string | null];
      return { code, killedBy, stderr };
    },
  };
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  'the server reports its address, answers, and exits with 0 on %s',
  async (signal) => {
    const server = start({ TIDEMARK_HOST: '127.0.0.1', TIDEMARK_PORT: '0' });
    const line = await server.firstLine();
    const [, url] = /^Tidemark 0\.1\.0 is ready at (http:\/\/127\.0\.0\.1:[0-9]+)$/.exec(line) ?? [];
    expect(await (await fetch(`${url}/healthz`)).json()).toEqual({ status: 'ok' });
    expect(await server.end(signal)).toEqual({ code: 0, killedBy: null, stderr: '' });
  },
);

it('[LOG-21] the log says which signal stops the server, and that it has stopped', async () => {
  const server = start({ TIDEMARK_HOST: '127.0.0.1', TIDEMARK_PORT: '0', TIDEMARK_LOG_LEVEL: 'info' });
  await server.firstLine();
  const { code, stderr } = await server.end('SIGTERM');
  const lines = stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { event: string });
  expect({ code, lines: lines.filter(({ event }) => event !== 'config_warning') }).toEqual({
    code: 0,
    lines: [
      { level: 'info', time: expect.any(String), event: 'server_stopping', signal: 'SIGTERM' },
      { level: 'info', time: expect.any(String), event: 'server_stopped' },
    ],
  });
});

it('[CLI-60] a data folder that is a file is told in one line', async () => {
  const file = join(folder.path, 'file');
  writeFileSync(file, '');
  expect(await start({ TIDEMARK_DATA: file }).end()).toEqual({
    code: 1,
    killedBy: null,
    stderr: `tidemark: ${file} is a file; the data needs a folder: choose another path\n`,
  });
});

it('an invalid port is reported in one line as an error of the configuration', async () => {
  expect(await start({ TIDEMARK_PORT: 'many' }).end()).toEqual({
    code: 78,
    killedBy: null,
    stderr: 'tidemark: TIDEMARK_PORT must be a whole number from 0 to 65535, not "many"\n',
  });
});
