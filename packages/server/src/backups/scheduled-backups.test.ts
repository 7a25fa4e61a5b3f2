import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newTidemark, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { testConfig } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { parseSchedule } from '../config/schedule.ts';
import { openStore } from '../open-engines.ts';
import { Backups } from './backups.ts';
import { ScheduledBackups } from './scheduled-backups.ts';

const QUIET = { debug() {}, info() {}, warn() {}, error() {} };
const HOUR_MS = 3_600_000;

let temporary: TemporaryFolder;
let store: Awaited<ReturnType<typeof openStore>>;
let tidemark: Awaited<ReturnType<typeof newTidemark>>['tidemark'];
let nowMs: number;

beforeEach(async () => {
  temporary = await temporaryFolder();
  store = await openStore(testConfig(join(temporary.path, 'data')));
  ({ tidemark } = await newTidemark({ store }));
  nowMs = Date.UTC(2030, 0, 31, 12, 30);
});

afterEach(async () => {
  await store.close();
  await temporary.remove();
});

/** Writes a program and returns its path. */
function program(name: string, text: string): string {
  const path = join(temporary.path, name);
  writeFileSync(path, `#!/bin/sh\n${text}\n`);
  chmodSync(path, 0o755);
  return path;
}

function newParts() {
  const backups = new Backups({ store, folder: folderOfBackups(), nowMs: () => nowMs });
  const schedule = parseSchedule('hourly');
  if (schedule === null) throw new Error('it is a schedule');
  return { backups, store, audit: tidemark.audit, log: QUIET, nowMs: () => nowMs, schedule, keep: 2 };
}

function folderOfBackups(): string {
  return join(temporary.path, 'backups');
}

function newScheduled(command: string | null = null) {
  const scheduled = new ScheduledBackups({ ...newParts(), command });
  return { scheduled, audit: tidemark.audit, folder: folderOfBackups() };
}

/** Backups that are made until `finish` is called. `made` resolves when one has begun. */
function newSlow() {
  let begin = (): void => undefined;
  let finish = (): void => undefined;
  const made = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const finished = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const make = async (): ReturnType<Backups['make']> => {
    begin();
    await finished;
    return backups.make();
  };
  const { backups, ...rest } = newParts();
  const slow = { make, prune: backups.prune.bind(backups), list: backups.list.bind(backups) };
  return { scheduled: new ScheduledBackups({ ...rest, backups: slow, command: null }), made, finish };
}

it('[BACKUP-20] a backup is made when it is due and not before, old ones are deleted, and a second process makes none', async () => {
  const { scheduled, audit, folder } = newScheduled();
  const other = newScheduled();
  await scheduled.check();
  expect(await scheduled.read()).toEqual({
    ...{ schedule: 'hourly', keep: 2, command: null, last: null },
    next_at: '2030-01-31T13:00:00.000Z',
  });
  nowMs += HOUR_MS / 2 - 1;
  await scheduled.check();
  expect((await scheduled.read()).last).toBeNull();
  for (let hour = 13; hour < 16; hour++) {
    nowMs = Date.UTC(2030, 0, 31, hour);
    await Promise.all([scheduled.check(), other.scheduled.check()]);
  }
  expect(readdirSync(folder).sort()).toEqual(['2030-01-31T14-00-00-000Z', '2030-01-31T15-00-00-000Z']);
  const last = { at: '2030-01-31T15:00:00.000Z', state: 'done', name: '2030-01-31T15-00-00-000Z', detail: null };
  expect(await scheduled.read()).toMatchObject({ last, next_at: '2030-01-31T16:00:00.000Z' });
  const facts = await audit.list();
  expect(facts.map(({ action, result, actor }) => [action, result, actor])).toEqual(
    Array(3).fill(['backup.scheduled', 'ok', null]),
  );
});

it('[BACKUP-20] a server that stops waits for the backup that it is making', async () => {
  const { scheduled } = newScheduled();
  await scheduled.check();
  nowMs = Date.UTC(2030, 0, 31, 13);
  scheduled.start();
  await scheduled.stop();
  expect((await scheduled.read()).last).toMatchObject({ state: 'done', name: '2030-01-31T13-00-00-000Z' });
});

it('[BACKUP-21] the command gets the folder of the backup; if it fails, the backup has failed, and no old one is deleted', async () => {
  const copied = join(temporary.path, 'copied.txt');
  const works = newScheduled(program('works', `echo "$1" >> ${copied}`));
  await works.scheduled.check();
  nowMs = Date.UTC(2030, 0, 31, 13);
  await works.scheduled.check();
  expect(readFileSync(copied, 'utf8')).toBe(`${join(works.folder, '2030-01-31T13-00-00-000Z')}\n`);
  const fails = newScheduled(program('fails', 'echo "no space at the other place" >&2; exit 3'));
  for (const hour of [14, 15]) {
    nowMs = Date.UTC(2030, 0, 31, hour);
    await fails.scheduled.check();
  }
  const { last } = await fails.scheduled.read();
  expect(last).toMatchObject({ state: 'failed', name: '2030-01-31T15-00-00-000Z' });
  expect(last?.detail).toContain('it ended with the code 3, and said: no space at the other place');
  expect(readdirSync(fails.folder)).toHaveLength(3);
  const facts = await fails.audit.list();
  expect(facts.find(({ subject }) => subject.name === last?.name)).toMatchObject({
    ...{ action: 'backup.scheduled', result: 'failed', subject: { name: '2030-01-31T15-00-00-000Z' } },
    target: last?.detail,
  });
  const missing = newScheduled(join(temporary.path, 'nothing'));
  nowMs = Date.UTC(2030, 0, 31, 16);
  await missing.scheduled.check();
  expect((await missing.scheduled.read()).last?.detail).toContain('ENOENT');
});

it('[BACKUP-20] a schedule goes on after a clock that was years ahead has been set right', async () => {
  const { scheduled, folder } = newScheduled();
  nowMs = Date.UTC(2040, 0, 1);
  await scheduled.check();
  nowMs = Date.UTC(2030, 0, 31, 12, 30);
  await scheduled.check();
  expect((await scheduled.read()).next_at).toBe('2030-01-31T13:00:00.000Z');
  nowMs = Date.UTC(2030, 0, 31, 13);
  await scheduled.check();
  expect(readdirSync(folder)).toEqual(['2030-01-31T13-00-00-000Z']);
});

it('[BACKUP-20] a stop waits for the backup under way, however long ago it began', async () => {
  const { scheduled, made, finish } = newSlow();
  await scheduled.check();
  nowMs = Date.UTC(2030, 0, 31, 13);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  scheduled.start();
  await made;
  // The checks while the backup is made find nothing to do.
  nowMs += 90_000;
  vi.advanceTimersByTime(90_000);
  await scheduled.read();
  let isStopped = false;
  const stopped = scheduled.stop().then(() => {
    isStopped = true;
  });
  for (let turn = 0; turn < 20; turn++) await scheduled.read();
  expect(isStopped).toBe(false);
  finish();
  await stopped;
  expect((await scheduled.read()).last?.state).toBe('done');
});
