import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { ADMIN_PASSWORD, startTestServer } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it } from 'vitest';

// The built server in its own process. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
/** Longer than any test; a test kills the server instead of waiting for the end. */
const LONG_MS = '600000';

let folder: TemporaryFolder;
let child: ChildProcess | null = null;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  if (child !== null && child.exitCode === null && child.signalCode === null) {
    child.kill('SIGKILL');
    await once(child, 'close');
  }
  child = null;
  await folder.remove();
});

async function start(env: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const settings = { TIDEMARK_PORT: '0', TIDEMARK_DATA: join(folder.path, 'data'), TIDEMARK_LOG_FORMAT: 'json' };
  const all = { ...process.env, ...settings, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD, ...env };
  child = spawn(process.execPath, [MAIN, 'serve', ...args], { env: all, cwd: folder.path });
  const said = { text: '' };
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said.text += text;
  });
  const [line] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string];
  return { server: child, url: line.split(' ').at(-1) ?? '', said };
}

function get(url: string, agent: Agent): Promise<IncomingMessage & { readonly text: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { agent }, async (response) => {
      let text = '';
      for await (const chunk of response.setEncoding('utf8')) text += chunk;
      resolve(Object.assign(response, { text }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

it('[REST-41] a stopping server reports that it is draining and still answers, closing each connection after its answer', async () => {
  const { server, url } = await start({ TIDEMARK_SHUTDOWN_DRAIN_MS: LONG_MS });
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  expect((await get(`${url}/readyz`, agent)).headers.connection).toBe('keep-alive');
  server.kill('SIGTERM');
  const readiness = async () => (await get(`${url}/readyz`, agent)).text;
  await expect.poll(readiness).toContain('"draining"');
  const answer = await get(`${url}/version`, agent);
  expect([answer.statusCode, answer.headers.connection]).toEqual([200, 'close']);
  agent.destroy();
});

it('[REST-41] a stopping server ends by itself with exit code 0 after the drain time', async () => {
  const { server } = await start({ TIDEMARK_SHUTDOWN_DRAIN_MS: '1' });
  server.kill('SIGTERM');
  expect(await once(server, 'close')).toEqual([0, null]);
});

it('[REST-42] an idle connection of a stopping server is ended, and not reset while its caller is sending', async () => {
  const server = await startTestServer();
  const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true });
  const closed = new Promise<string>((resolve) => {
    socket.on('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message));
    socket.on('close', () => resolve('closed'));
  });
  const question = 'GET /version HTTP/1.1\r\nhost: x\r\n\r\n';
  socket.write(question);
  await once(socket, 'data');
  const stopped = server.close();
  await once(socket, 'end');
  // Sent by a caller that has not seen the end yet. A second write would show a reset caused by the first.
  socket.write(question);
  await new Promise((resolve) => setImmediate(resolve));
  socket.end(question);
  expect(await closed).toBe('closed');
  await stopped;
});

it('[REST-42] a request under way when the server stops is answered, and its connection is closed', async () => {
  const server = await startTestServer();
  const socket = connect(server.port, '127.0.0.1');
  await once(socket, 'connect');
  const body = JSON.stringify({ login: 'admin', password: ADMIN_PASSWORD });
  const head = `POST /rc/v1/system/login HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n`;
  // The server asks for the body, so the request has certainly begun.
  socket.write(`${head}expect: 100-continue\r\n\r\n`);
  const [asked] = (await once(socket, 'data')) as [Buffer];
  expect(asked.toString()).toContain('100 Continue');
  const closed = server.close();
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    text += chunk;
  });
  socket.write(body);
  await once(socket, 'end');
  expect(text).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
  expect(text.toLowerCase()).toContain('connection: close');
  socket.destroy();
  await closed;
});

it.each([[[]], [['--workers', '2']]])(
  '[CONF-15] SIGHUP applies the log level and logs the settings that need a restart (%j)',
  async (args) => {
    const file = join(folder.path, 'tidemark.config.json');
    await writeFile(file, JSON.stringify({ log_level: 'warn' }));
    const { server, url, said } = await start({}, args);
    await writeFile(file, JSON.stringify({ log_level: 'info', body_bytes_max: 2_000_000 }));
    server.kill('SIGHUP');
    await expect.poll(() => said.text).toContain('"config_reloaded"');
    expect(said.text).toContain('"changed":"log_level","needs_restart":"body_bytes_max"');
    await writeFile(file, '{ "log_level": "loud" }');
    server.kill('SIGHUP');
    await expect.poll(() => said.text).toContain('"config_not_reloaded"');
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    server.kill('SIGTERM');
    expect(await once(server, 'close')).toEqual([0, null]);
  },
);
