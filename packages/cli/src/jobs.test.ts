import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { openStore } from '@tidemark/server/open-engines';
import { makeUser, openDevice, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { ADMIN_PASSWORD, logIn, type Outcome, runInProcess, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

// The server as it is shipped, in a process of its own; a second process looks into its queues by the same data folder.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const NOBODY = 'http://127.0.0.1:1/backend';

let folder: TemporaryFolder;
let server: { readonly process: ChildProcess; readonly url: string; readonly token: string };

beforeAll(async () => {
  folder = await temporaryFolder();
  const child = spawn(process.execPath, [MAIN, 'serve', '--port', '0', '--data', 'data', '--log-level', 'error'], {
    env: { PATH: process.env.PATH ?? '', TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD },
    cwd: folder.path,
  });
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  const [url = ''] = /http:\S+/.exec(line) ?? [];
  server = { process: child, url, token: await logIn(url) };
});

afterAll(async () => {
  server.process.kill('SIGKILL');
  await folder.remove();
});

function tidemark(...args: readonly string[]): Promise<Outcome> {
  const env = { HOME: folder.path, TIDEMARK_URL: server.url, TIDEMARK_TOKEN: server.token };
  return runInProcess(args, { env, folder: folder.path });
}

async function answer(...args: readonly string[]): Promise<unknown> {
  const { code, out, err } = await tidemark(...args, '--json');
  if (code !== 0) throw new Error(`tidemark ${args.join(' ')}: ${err}`);
  return JSON.parse(out);
}

/** Work that was given up, as a server leaves it. */
async function leaveDeadJob(queue: string): Promise<string> {
  const store = await openStore(testConfig(`${folder.path}/data`));
  const jobs = store.jobs({ clock: { nowMs: () => Date.now() } });
  const id = await jobs.enqueue(queue, { kind: 'upload', payload: '{}', attemptsMax: 3 });
  const leased = await jobs.lease(queue, 60_000);
  if (leased === null) throw new Error('the job was not leased');
  await jobs.bury(leased, 'the backend said no');
  await store.close();
  return id;
}

it('[CLI-22] appserver sets, shows and removes the backend, and shows the shared secret', async () => {
  expect(await answer('appserver', 'get')).toEqual({ adapter_url: null });
  expect(await answer('appserver', 'set', NOBODY)).toEqual({ adapter_url: NOBODY });
  expect(await answer('appserver', 'get')).toEqual({ adapter_url: NOBODY });
  const { secret } = (await answer('appserver', 'secret')) as { secret: string };
  expect(secret).toMatch(/^whsec_/);
  expect(await tidemark('appserver', 'secret')).toEqual({ code: 0, out: `${secret}\n`, err: '' });
  expect((await tidemark('appserver', 'set', 'file:///etc/passwd')).err).toContain('(url_not_allowed)');
  expect(await answer('appserver', 'set', '--none')).toEqual({ adapter_url: null });
});

it('[CLI-22] jobs lists waiting jobs, and pauses and resumes a queue', async () => {
  await makeUser(server, 'ada');
  const ada = await openDevice(server, 'ada');
  await answer('appserver', 'set', NOBODY);
  await answer('sources', 'declare', 'Order', '--adapter', 'backend', '--cud-queue', 'office');
  expect(await answer('jobs', 'pause', 'office')).toMatchObject({ queue: 'office', paused: true });
  const changes = [{ op_id: '1', source: 'Order', op: 'create', id: 'tmp', attributes: { n: 1 } }];
  const pushed = await ada.api.post('/sync/v1/push', { client_id: ada.id, changes });
  expect(pushed.body).toMatchObject({ outcomes: [{ status: 'queued' }] });
  expect(await answer('jobs', 'list')).toMatchObject([{ queue: 'office', paused: true, counts: { due: 1 } }]);
  const { jobs } = (await answer('jobs', 'inspect', 'office', '--state', 'due')) as { jobs: { id: string }[] };
  const id = jobs[0]?.id ?? '';
  expect(await answer('jobs', 'show', 'office', id)).toMatchObject({ id, kind: 'upload', state: 'due', attempt: 0 });
  expect(await answer('jobs', 'resume', 'office')).toMatchObject({ queue: 'office', paused: false });
  expect((await tidemark('jobs', 'remove', 'office', id)).err).toContain('confirm with --yes');
  expect((await tidemark('jobs', 'show', 'office', 'none')).err).toContain('(job_not_found)');
});

it('[CLI-22] jobs lists dead jobs by default, retries and removes them', async () => {
  const id = await leaveDeadJob('set-aside');
  const page = await answer('jobs', 'inspect', 'set-aside');
  expect(page).toMatchObject({ jobs: [{ id, state: 'dead', last_reason: 'the backend said no' }] });
  expect((await tidemark('jobs', 'list')).out).toMatch(/set-aside/);
  expect(await answer('jobs', 'retry', 'set-aside', id)).toEqual({ retried: id });
  expect(await answer('jobs', 'show', 'set-aside', id)).toMatchObject({ id, state: 'due', attempt: 0 });
  expect(await answer('jobs', 'remove', 'set-aside', id, '--yes')).toEqual({ removed: id });
  expect(await answer('jobs', 'inspect', 'set-aside')).toEqual({ jobs: [], next: null });
});

it('[BACKUP-8] backups are made, listed, verified, downloaded to a new file, pruned and deleted', async () => {
  const { name } = (await answer('backups', 'create')) as { name: string };
  expect(await answer('backups', 'list')).toMatchObject({ backups: [{ name }] });
  expect(await answer('backups', 'verify', name)).toMatchObject({ is_undamaged: true });
  await answer('backups', 'download', name, '--output', 'b.tar');
  const { size, mode } = statSync(`${folder.path}/b.tar`);
  expect([size > 4_096, mode & 0o777]).toEqual([true, 0o600]);
  const again = await tidemark('backups', 'download', name, '--output', 'b.tar');
  expect([again.code, again.err]).toEqual([1, expect.stringContaining('exists already')]);
  expect(await answer('backups', 'prune', '--keep', '1', '--yes')).toEqual([]);
  expect(await answer('backups', 'delete', name, '--yes')).toMatchObject({ name });
  expect((await tidemark('backups', 'download', name, '--output', 'c.tar')).err).toContain('backup_not_found');
  expect(existsSync(`${folder.path}/c.tar`)).toBe(false);
});
