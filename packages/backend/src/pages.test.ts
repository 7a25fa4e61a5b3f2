import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type ServerProcess, startServerProcess } from '@tidemark/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { TidemarkClient } from './client/tidemark-client.ts';

const ROOT = fileURLToPath(new URL('../../..', import.meta.url));
const SECRET = 'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=';

/** A piece of a page: what it is written in, the file it is called, and what it prints where the page says so. */
interface Sample {
  readonly language: string;
  readonly file: string | null;
  readonly code: string;
  readonly printed: string | null;
}

function blocksOf(page: string): readonly { readonly language: string; readonly code: string }[] {
  const text = readFileSync(join(ROOT, page), 'utf8');
  return [...text.matchAll(/```(\w+)\n([\s\S]*?)```/g)].map(([, language = '', code = '']) => ({ language, code }));
}

/** Returns the commands of a page, each block as one script. */
function scriptsOf(page: string): readonly string[] {
  const blocks = blocksOf(page).filter(({ language }) => language === 'console');
  return blocks.map(({ code }) => [...code.matchAll(/^\$ (.*)$/gm)].map(([, command]) => command).join('\n'));
}

function samplesOf(page: string): readonly Sample[] {
  const blocks = blocksOf(page).filter(({ language }) => language !== 'console');
  return blocks.flatMap(({ language, code }, index) => {
    if (language === 'text') return [];
    const next = blocks[index + 1];
    const file = /^(?:\/\/|#) ([\w-]+\.\w+)\n/.exec(code)?.[1] ?? null;
    return [{ language, file, code, printed: next?.language === 'text' ? next.code : null }];
  });
}

const OTHER_PAGES = [
  { page: 'docs/backend/python.md', language: 'python', command: 'python3', source: 'Boat' },
  { page: 'docs/backend/ruby.md', language: 'ruby', command: 'ruby', source: 'Ferry' },
] as const;

function isInstalled(command: string): boolean {
  return spawnSync(command, ['--version']).status === 0;
}

/** The pages whose language is there. The others are held against these: see the test of their statuses. */
const run = OTHER_PAGES.filter(({ command }) => isInstalled(command));
for (const { page, command } of OTHER_PAGES) {
  const missing = `NOT run: there is no ${command} on this machine; its commands and statuses are compared with the other page`;
  const fate = run.some((other) => other.page === page) ? 'run' : missing;
  process.stdout.write(`${page} is ${fate}\n`);
}

let server: ServerProcess;
let tidemark: TidemarkClient;
let env: NodeJS.ProcessEnv;
/** Inside the checkout, so that the samples find what they import. */
let folder: string;
const children: ChildProcess[] = [];

beforeAll(async () => {
  server = await startServerProcess();
  const { url, adminPassword: password } = server;
  tidemark = await TidemarkClient.logIn({ url, login: 'admin', password });
  const { token } = await tidemark.tokens.create({ name: 'samples', scopes: ['admin', 'read', 'push'] });
  const plain = { NO_COLOR: '1', FORCE_COLOR: '0', NODE_NO_WARNINGS: '1', PYTHONDONTWRITEBYTECODE: '1' };
  env = { ...process.env, ...plain, TIDEMARK_URL: url, TIDEMARK_TOKEN: token, TIDEMARK_BACKEND_SECRET: SECRET };
  const cache = join(ROOT, 'node_modules/.cache');
  mkdirSync(cache, { recursive: true });
  folder = mkdtempSync(join(cache, 'tidemark-pages-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) {
    // With what a shell has started.
    if (child.exitCode === null && child.signalCode === null) process.kill(-(child.pid as number), 'SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  }
});

afterAll(async () => {
  rmSync(folder, { recursive: true, force: true });
  await server.stop();
});

function written(sample: Sample, name: string): string {
  const path = join(folder, sample.file ?? name);
  writeFileSync(path, sample.code);
  return path;
}

/** Runs commands of a page as they stand, but for the address of the server and the port. */
function shellOf(script: string, port = 0): { readonly command: string; readonly args: readonly string[] } {
  const placed = script.replace('http://127.0.0.1:9292', server.url).replaceAll('8080', String(port));
  const program = join(ROOT, 'packages/cli/bin/tidemark.mjs');
  const tidemarkCommand = `tidemark() { '${process.execPath}' '${program}' "$@"; }`;
  return { command: 'bash', args: ['-c', `set -e\n${tidemarkCommand}\n${placed}`] };
}

function printedByShell(script: string, port?: number): string {
  const { command, args } = shellOf(script, port);
  return execFileSync(command, args, { cwd: folder, env, encoding: 'utf8', timeout: 500_000 });
}

function printedBy(command: string, path: string): string {
  return execFileSync(command, [path], { cwd: folder, env, encoding: 'utf8', timeout: 500_000 });
}

/** Starts a sample that listens, and waits until it says that it does. */
async function listening(command: string, args: readonly string[], port: number): Promise<string> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { ...env, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  children.push(child);
  const lines = createInterface({ input: child.stdout });
  const [said] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => ['nothing'])]);
  expect(said).toBe('ready');
  return `http://127.0.0.1:${port}/tidemark`;
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, 'close');
  return port;
}

interface Signing {
  readonly secret?: string;
  readonly ageS?: number;
}

async function call(url: string, body: object, { secret = SECRET, ageS = 0 }: Signing = {}) {
  const text = JSON.stringify(body);
  const [id, timestamp] = [randomUUID(), String(Math.floor(Date.now() / 1_000) - ageS)];
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${text}`).digest('base64');
  const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,AAAA v1,${signature}` };
  const answer = await fetch(url, {
    method: 'POST',
    body: text,
    headers: { 'content-type': 'application/json', ...headers },
  });
  return { status: answer.status, body: (await answer.json()) as unknown };
}

const OTHER_SECRET = 'whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=';

describe.each(['docs/backend/typescript.md', 'docs/backend/files.md', 'packages/backend/README.md'])('%s', (page) => {
  const samples = samplesOf(page);
  const scripts = samples.filter(({ file }) => file === null);

  it.each(scripts.map((sample, index) => [index + 1, sample] as const))(
    '[BSDK-17] sample %i prints what the page says',
    (index, sample) => {
      expect(printedBy(process.execPath, written(sample, `sample-${index}.mjs`))).toBe(sample.printed);
    },
  );

  it.each(samples.filter(({ file }) => file?.startsWith('on-')).map((sample) => [sample.file, sample] as const))(
    '[BSDK-17] %s answers calls',
    async (name, sample) => {
      for (const other of samples) if (other.file === 'backend.mjs') written(other, other.file);
      const url = await listening(process.execPath, [written(sample, String(name))], await freePort());
      const target = { source: 'WorkOrder', user_id: 'ada' };
      expect(await call(`${url}/query`, { ...target, partition: 'ada' })).toEqual({
        status: 200,
        body: { 17: { title: 'Replace pump seal', status: 'open', for: 'ada' } },
      });
      const create = { ...target, op_id: 'a', id: 'tmp', attributes: { title: 'Check valve', status: 'closed' } };
      expect(await call(`${url}/create`, create)).toEqual({ status: 200, body: { id: '101' } });
      expect(await call(`${url}/create`, create)).toEqual({ status: 200, body: { id: '101' } });
      const update = { ...target, op_id: 'b', id: '101', attributes: { status: 'open' } };
      expect(await call(`${url}/update`, update)).toMatchObject({ status: 409, body: { code: 'conflict' } });
      expect(await call(`${url}/authenticate`, { login: 'ada', password: 'no' })).toMatchObject({ status: 401 });
      expect(await call(`${url}/query`, target, { secret: OTHER_SECRET })).toMatchObject({
        status: 401,
        body: { code: 'signature_invalid' },
      });
    },
  );

  it('[BSDK-17] every sample is one of these', () => {
    expect(scripts.filter(({ printed }) => printed === null)).toEqual([]);
    const files = samples.flatMap(({ file }) => file ?? []);
    expect(files.filter((file) => file !== 'backend.mjs' && !/^on-\w+\.mjs$/.test(file))).toEqual([]);
  });
});

it('[BSDK-18] the pages for other languages push, answer, and say which files they are', () => {
  for (const { page, language } of OTHER_PAGES) {
    const samples = samplesOf(page);
    expect(samples.map((sample) => sample.language)).toEqual([language, language]);
    expect(samples.map(({ file }) => file?.split('.')[0])).toEqual(['push', 'answer']);
  }
});

it('[BSDK-51] the pages for other languages have the same commands, and answer with the same statuses and codes', () => {
  const answers = OTHER_PAGES.map(({ page, language, command, source }) => {
    const [, answer] = samplesOf(page);
    return {
      scripts: scriptsOf(page).map((script) =>
        script
          .replaceAll(source, 'SOURCE')
          .replaceAll(/\.(?:py|rb)/g, '')
          .replaceAll(new RegExp(`${command} (?=push|answer)`, 'g'), '')
          .replaceAll(`--name ${language}`, ''),
      ),
      statuses: [...new Set(answer?.code.match(/\b(?:200|4\d\d|50\d)\b/g))].sort(),
      codes: [...new Set(answer?.code.match(/signature_invalid|rejected|source_not_handled/g))].sort(),
    };
  });
  expect(answers[1]).toEqual(answers[0]);
  expect(answers[0]?.statuses).toEqual(['200', '401', '413', '422', '501']);
});

// Registered only where it can run; above it is said which pages that leaves out.
for (const { page, command, source } of run) {
  describe(page, () => {
    const [push, answer] = samplesOf(page) as [Sample, Sample];

    const [toPush = '', toAnswer = '', toConnect = ''] = scriptsOf(page);

    it('[BSDK-18] pushes by the commands of the page, and prints what it says', async () => {
      written(push, 'push');
      // The first command prints what was declared.
      const [declare = '', ...others] = toPush.split('\n');
      expect(printedByShell(declare)).toContain(source);
      expect(printedByShell(others.join('\n'))).toBe(push.printed);
      const owner = { source, shared: true } as const;
      expect(await tidemark.documents.read(owner, 'md')).toEqual({ 1: { name: 'Möwe', berths: 4 } });
    });

    it('[BSDK-51] started by the commands of the page, it passes the check, and devices still sign in by password', async () => {
      written(answer, 'answer');
      const port = await freePort();
      const { command: shell, args } = shellOf(toAnswer, port);
      await listening(shell, args, port);
      const checked = printedByShell(toConnect, port);
      expect(checked).toContain('are checked by the stored passwords: the backend answers 501');
      const login = `${source}-driver`;
      await tidemark.users.create({ login, password: 'lovelace-1815' });
      const signedIn = await fetch(`${server.url}/sync/v1/login`, {
        method: 'POST',
        body: JSON.stringify({ login, password: 'lovelace-1815' }),
        headers: { 'content-type': 'application/json' },
      });
      expect(signedIn.status).toBe(200);
      await tidemark.system.setAppserver(null);
      await tidemark.sources.drop(source);
    });

    it('[BSDK-18] answers calls that are signed, and no others', async () => {
      const url = await listening(command, [written(answer, 'answer')], await freePort());
      const query = { source, user_id: null, partition: null };
      expect(await call(`${url}/query`, query)).toEqual({ status: 200, body: { 1: { name: 'Möwe', berths: 4 } } });
      const update = { source, user_id: 'ada', op_id: 'a', id: '1', attributes: { name: 'Lachmöwe 😀' } };
      expect(await call(`${url}/update`, update)).toEqual({ status: 200, body: {} });
      expect(await call(`${url}/query`, query)).toMatchObject({ body: { 1: { name: 'Lachmöwe 😀', berths: 4 } } });
      expect(await call(`${url}/delete`, update)).toMatchObject({ status: 422, body: { code: 'rejected' } });
      const notHandled = { status: 501, body: { code: 'source_not_handled' } };
      expect(await call(`${url}/authenticate`, { login: 'ada', password: 'x' })).toMatchObject(notHandled);
      expect(await call(`${url}/query`, { ...query, source: 'Car' })).toMatchObject(notHandled);
      expect(await call(`${url}/search`, { source, user_id: 'ada', params: {} })).toMatchObject(notHandled);
      const refused = { status: 401, body: { code: 'signature_invalid' } };
      expect(await call(`${url}/query`, query, { secret: OTHER_SECRET })).toMatchObject(refused);
      expect(await call(`${url}/query`, query, { ageS: 302 })).toMatchObject(refused);
      expect(await call(`${url}/query`, query, { ageS: -302 })).toMatchObject(refused);
    });
  });
}
