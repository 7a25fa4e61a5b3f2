import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '@tidemark/server/config/load-config';
import { Caller, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { ADMIN_PASSWORD, runInProcess } from '@tidemark/testing/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

// The built server in its own process. `npm test` builds before it runs this.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

let folder: TemporaryFolder;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await temporaryFolder();
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await folder.remove();
});

/** Collects the output of the process on both streams. */
function start(env: Readonly<Record<string, string>>) {
  const settings = { TIDEMARK_PORT: '0', TIDEMARK_DATA: join(folder.path, 'data'), ...env };
  const child = spawn(process.execPath, [MAIN, 'serve'], { env: { ...process.env, ...settings }, cwd: folder.path });
  children.push(child);
  const said = { text: '' };
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said.text += text;
    });
  }
  const lines = createInterface({ input: child.stdout });
  return { child, said, lines };
}

async function exitOf(
  env: Readonly<Record<string, string>>,
): Promise<{ readonly code: number; readonly text: string }> {
  const { child, said } = start(env);
  const [code] = (await once(child, 'close')) as [number];
  return { code, text: said.text };
}

describe('insecure configurations', () => {
  it.each([
    ['TIDEMARK_BODY_BYTES_MAX', '-1'],
    ['TIDEMARK_BODY_BYTES_MAX', 'Infinity'],
    ['TIDEMARK_BODY_BYTES_MAX', '1e9'],
    ['TIDEMARK_TOKEN_TTL_S', '0'],
    ['TIDEMARK_ALLOW_RESET', 'maybe'],
    ['TIDEMARK_METRICS_PUBLIC', 'yes please'],
    ['TIDEMARK_PUBLIC_URL', 'https://u:secret@sync.example'],
    ['TIDEMARK_ADMIN_LOGIN', '*'],
  ])('[HARD-64] %s=%s prevents the start with a message that names the setting', async (name, value) => {
    const { code, err } = await runInProcess(['serve'], {
      env: { TIDEMARK_PORT: '0', [name]: value },
      folder: folder.path,
    });
    expect(code).toBe(78);
    expect(err).toContain(name);
    expect(err).not.toMatch(/\n\s+at /);
    expect(await readdir(folder.path)).toEqual([]);
  });

  it('[HARD-64] a secret in a file that everybody may read is refused', async () => {
    const file = join(folder.path, 'password');
    await writeFile(file, 'the secret in the file');
    await chmod(file, 0o644);
    const { code, text } = await exitOf({ TIDEMARK_ADMIN_PASSWORD_FILE: file });
    expect(code).toBe(78);
    expect(text).toContain('TIDEMARK_ADMIN_PASSWORD_FILE');
    expect(text).not.toContain('the secret in the file');
  });

  it('[HARD-64] without a configured password the first start generates one and shows it once', async () => {
    const first = start({});
    // Both lines may arrive in one event, so the whole text is checked.
    await expect.poll(() => first.said.text).toContain('is ready at');
    first.child.kill('SIGTERM');
    await once(first.child, 'close');
    const [, password = ''] = /password (\S+)/.exec(first.said.text) ?? [];
    expect(password.length).toBeGreaterThanOrEqual(16);
    const second = start({});
    const [ready] = (await once(second.lines, 'line')) as [string];
    const caller = new Caller(ready.split(' ').at(-1) ?? '', null);
    const replies = [];
    for (const guess of ['admin', 'tidemark', password]) {
      replies.push((await caller.post('/rc/v1/system/login', { login: 'admin', password: guess })).status);
    }
    caller.close();
    expect(replies).toEqual([401, 401, 200]);
    second.child.kill('SIGTERM');
    await once(second.child, 'close');
    expect(second.said.text).not.toContain(password);
  });
});

describe('risky configurations', () => {
  it('[HARD-64] a commonly guessed password causes a warning at the start and is not repeated', async () => {
    const { child, said } = start({ TIDEMARK_ADMIN_PASSWORD: 'letmein' });
    await expect.poll(() => said.text).toContain('is ready at');
    child.kill('SIGTERM');
    await once(child, 'close');
    expect(said.text).toContain('admin_password is a commonly guessed password; choose another');
    expect(said.text).not.toContain('letmein');
  });

  it('[HARD-64] running as root causes a warning, and running as another user does not', () => {
    const warningsFor = (userId: number) =>
      loadConfig({ env: {}, folder: folder.path, userId }).warnings.map(({ detail }) => detail);
    expect(warningsFor(0)).toEqual([expect.stringContaining('the server runs as root')]);
    expect(warningsFor(1_000)).toEqual([]);
  });
});

describe('log output', () => {
  it('[HARD-65] the output never contains tokens, passwords, push addresses or data, at the most detailed level', async () => {
    const { child, said, lines } = start({ TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD, TIDEMARK_LOG_LEVEL: 'debug' });
    const [ready] = (await once(lines, 'line')) as [string];
    const url = ready.split(' ').at(-1) ?? '';
    const stranger = new Caller(url, null);
    const token = (await stranger.post('/rc/v1/system/login', { login: 'admin', password: ADMIN_PASSWORD })).text;
    const admin = new Caller(url, token);
    await stranger.post('/rc/v1/system/login', { login: 'admin', password: 'wrong-guess-7731' });
    await admin.post('/rc/v1/users', {
      attributes: { login: 'anna', password: 'pass-of-anna-7731', note: 'note-7731' },
    });
    await admin.put('/rc/v1/users/anna', { attributes: { password: 'next-of-anna-7731' } });
    await admin.post('/rc/v1/sources', { name: 'Order' });
    await admin.post('/app/v1/Order/push_objects', {
      user_id: 'anna',
      objects: { 1: { a: 'data-7731' } },
      api_token: 'body-7731',
    });
    await admin.postText('/app/v1/Order/push_objects', '{"objects":"torn-7731');
    await admin.post('/app/v1/Order/push_objects', {
      user_id: 'anna',
      objects: { 1: { 'attr-7731': { deep: 2 ** 60 } } },
    });
    await admin.post('/rc/v1/store/doc', { data: 'text-7731' });
    await admin.post('/rc/v1/system/appserver', { adapter_url: 'http://u:url-7731@h.example/' });
    await stranger.get('/rc/v1/users?api_token=query-7731', {
      authorization: 'Bearer bearer-7731',
      cookie: 'c=cookie-7731',
    });
    const issued = (await admin.post('/rc/v1/tokens', { name: 't', scopes: ['read'] })).body as {
      readonly token: string;
    };
    admin.close();
    stranger.close();
    child.kill('SIGTERM');
    await once(child, 'close');
    for (const secret of ['7731', token, issued.token, ADMIN_PASSWORD]) expect(said.text).not.toContain(secret);
  });
});
