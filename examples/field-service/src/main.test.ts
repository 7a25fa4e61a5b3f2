import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TidemarkClient } from '@tidemark/backend';
import { itLong, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';

// As it is started by hand: what was built, in a process of its own.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const ROOT = fileURLToPath(new URL('../../..', import.meta.url));

let folder: TemporaryFolder;
let child: ChildProcess | null = null;

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  child?.kill('SIGKILL');
  await folder.remove();
});

/** Everything it prints until it is ready. */
async function start(): Promise<string> {
  const env = { ...process.env, FIELD_SERVICE_DATA: folder.path, FIELD_SERVICE_PORT: '0', TIDEMARK_PORT: '0' };
  child = spawn(process.execPath, [MAIN], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  while (!said.includes('--url')) {
    await Promise.race([once(child.stdout as NodeJS.ReadableStream, 'data'), once(child, 'exit')]);
    if (child.exitCode !== null) throw new Error(`it ended: ${said}`);
  }
  return said;
}

async function stop(): Promise<number | null> {
  child?.kill('SIGTERM');
  const [code] = (await once(child as ChildProcess, 'exit')) as [number | null];
  return code;
}

function clientOf(said: string): Promise<TidemarkClient> {
  const [url = ''] = /http:\S+/.exec(said) ?? [];
  const { adminPassword: password } = JSON.parse(readFileSync(join(folder.path, 'secrets.json'), 'utf8'));
  return TidemarkClient.logIn({ url, login: 'admin', password });
}

it('[EXAMPLE-1] starts with Tidemark beside it, ends with it, and goes on where it was', async () => {
  const tidemark = await clientOf(await start());
  const owner = { source: 'WorkOrder', user: 'crew-harbour' };
  const before = await tidemark.documents.read(owner, 'md');
  expect(Object.keys(before).length).toBe(4);
  expect(await tidemark.system.appserver()).toEqual({ adapter_url: expect.stringMatching(/\/tidemark$/) });
  expect(await stop()).toBe(0);

  const again = await clientOf(await start());
  expect(await again.documents.read(owner, 'md')).toEqual(before);
  expect(await again.push.objects('WorkOrder', {}, { user: 'crew-harbour' })).toMatchObject({ seq: 4 });
  expect(await stop()).toBe(0);
});

itLong('[EXAMPLE-7] the two commands it prints work in a shell, in the order printed', async () => {
  const commands = (await start()).split('\n').filter((line) => line.startsWith('  '));
  expect(commands).toHaveLength(2);
  const [change = '', look = ''] = commands;
  expect(JSON.parse(await shell(change))).toMatchObject({ price_cents: 4990 });
  // The backend tells Tidemark by itself, a moment after it has answered.
  const price = async () => JSON.parse(await shell(look))['P-1010'].price_cents;
  await expect.poll(price).toBe(4990);
  expect(await stop()).toBe(0);
});

/** Runs a command as a person would, in the root of the checkout, and returns what it prints. */
async function shell(command: string): Promise<string> {
  const program = spawn('sh', ['-c', command], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const said = { out: '', err: '' };
  program.stdout.setEncoding('utf8').on('data', (text: string) => {
    said.out += text;
  });
  program.stderr.setEncoding('utf8').on('data', (text: string) => {
    said.err += text;
  });
  const [code] = (await once(program, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${code}: ${said.err}`);
  return said.out;
}

itLong('[EXAMPLE-9] the Tidemark that a killed example has started ends as well', async () => {
  const [url = ''] = /http:\S+/.exec(await start()) ?? [];
  expect((await fetch(`${url}/health`)).status).toBeLessThan(500);
  child?.kill('SIGKILL');
  const isGone = () =>
    fetch(`${url}/health`).then(
      () => false,
      () => true,
    );
  await expect.poll(isGone).toBe(true);
});
