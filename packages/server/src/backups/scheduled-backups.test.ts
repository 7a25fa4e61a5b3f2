import { chmodSync, mkdirSync, readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newTidemark, type TemporaryFolder, temporaryFolder } from '@tidemark/testing';
import { testConfig } from '@tidemark/testing/server';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { parseSchedule } from '../config/schedule.ts';
import { BACKUP_SILENT_MS, BACKUPS_MAX } from '../limits.ts';
import { openStore } from '../open-engines.ts';
import { Backups, type TurnOptions } from './backups.ts';
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
  const backups = new Backups({ store, files: null, folder: folderOfBackups(), nowMs: () => nowMs });
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

it('[BACKUP-51] a scheduled backup waits for one that somebody makes at the same time, and so does the deletion of old ones', async () => {
  let begun = 0;
  let finish = (): void => undefined;
  const copy = async (folder: string) => {
    begun++;
    // The first and the third are made by hand, and take until they are told to finish.
    if (begun !== 2) {
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
    }
    await store.backup(folder);
  };
  const backups = new Backups({ store: { backup: copy }, files: null, folder: folderOfBackups(), nowMs: () => nowMs });
  const byHand: Promise<unknown>[] = [];
  const meeting = {
    list: backups.list.bind(backups),
    prune: backups.prune.bind(backups),
    make: async (options?: TurnOptions) => {
      const made = await backups.make(options);
      nowMs++;
      byHand.push(backups.make());
      return made;
    },
  };
  const scheduled = new ScheduledBackups({ ...newParts(), backups: meeting, command: null });
  await scheduled.check();
  byHand.push(backups.make());
  await expect.poll(() => begun).toBe(1);
  nowMs = Date.UTC(2030, 0, 31, 13);
  const checked = scheduled.check();
  await expect.poll(async () => (await scheduled.read()).last).not.toBeNull();
  finish();
  await expect.poll(() => begun).toBe(3);
  finish();
  await Promise.all([checked, ...byHand]);
  const last = { at: '2030-01-31T13:00:00.000Z', state: 'done', name: '2030-01-31T13-00-00-000Z', detail: null };
  expect((await scheduled.read()).last).toEqual(last);
  expect(readdirSync(folderOfBackups()).sort()).toEqual([last.name, '2030-01-31T13-00-00-001Z']);
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

it('[BACKUP-30] a backup whose server died has failed two minutes later, and the schedule goes on', async () => {
  const dead = newSlow();
  await dead.scheduled.check();
  nowMs = Date.UTC(2030, 0, 31, 13);
  void dead.scheduled.check();
  await dead.made;
  const { scheduled, audit, folder } = newScheduled();
  const running = { at: '2030-01-31T13:00:00.000Z', state: 'running', name: null, detail: null };
  nowMs += BACKUP_SILENT_MS - 1;
  await scheduled.check();
  expect((await scheduled.read()).last).toEqual(running);
  nowMs += 1;
  await scheduled.check();
  const detail =
    'it was not finished: the server ended meanwhile, or this data was restored from a copy that it made then';
  expect(await scheduled.read()).toMatchObject({
    last: { ...running, state: 'failed', detail },
    next_at: '2030-01-31T14:00:00.000Z',
  });
  expect(await audit.list()).toMatchObject([{ action: 'backup.scheduled', result: 'failed', target: detail }]);
  nowMs = Date.UTC(2030, 0, 31, 14);
  await scheduled.check();
  expect((await scheduled.read()).last?.state).toBe('done');
  expect(readdirSync(folder)).toEqual(['2030-01-31T14-00-00-000Z']);
});

it('[BACKUP-30] a backup that a server began by a clock years ahead, and did not end, has failed when the clock is right', async () => {
  const dead = newSlow();
  await dead.scheduled.check();
  nowMs = Date.UTC(2040, 0, 1);
  void dead.scheduled.check();
  await dead.made;
  nowMs = Date.UTC(2030, 0, 31, 12, 30);
  const { scheduled } = newScheduled();
  await scheduled.check();
  await scheduled.check();
  expect((await scheduled.read()).last?.state).toBe('failed');
  nowMs = Date.UTC(2030, 0, 31, 13);
  await scheduled.check();
  expect((await scheduled.read()).last?.state).toBe('done');
});

it('[BACKUP-31] a backup whose server died during the command counts as one that the command failed for', async () => {
  const { backups, ...rest } = newParts();
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  let lists = 0;
  const dying = {
    make: backups.make.bind(backups),
    prune: backups.prune.bind(backups),
    // The second time is just before the command.
    list: () => {
      if (++lists === 1) return backups.list();
      begin();
      return new Promise<never>(() => undefined);
    },
  };
  const dead = new ScheduledBackups({ ...rest, backups: dying, command: program('works', 'exit 0') });
  await dead.check();
  nowMs = Date.UTC(2030, 0, 31, 13);
  void dead.check();
  await begun;
  const { scheduled, folder } = newScheduled(program('fails', 'exit 1'));
  nowMs += BACKUP_SILENT_MS;
  await scheduled.check();
  expect((await scheduled.read()).last).toMatchObject({ state: 'failed', name: '2030-01-31T13-00-00-000Z' });
  for (const hour of [14, 15]) {
    nowMs = Date.UTC(2030, 0, 31, hour);
    await scheduled.check();
  }
  expect(readdirSync(folder).sort()).toEqual(['2030-01-31T14-00-00-000Z', '2030-01-31T15-00-00-000Z']);
});

it('[BACKUP-30] a backup that takes hours is under way all the time, and no second one begins meanwhile', async () => {
  const { scheduled, made, finish } = newSlow();
  await scheduled.check();
  nowMs = Date.UTC(2030, 0, 31, 13);
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  scheduled.start();
  await made;
  const other = newScheduled();
  const entry = { kind: 'setting', key: ['scheduled_backup'] } as const;
  for (let hour = 14; hour < 17; hour++) {
    nowMs = Date.UTC(2030, 0, 31, hour);
    const before = (await store.readEntry(entry))?.version;
    vi.advanceTimersByTime(30_000);
    await expect.poll(async () => (await store.readEntry(entry))?.version).not.toBe(before);
    await other.scheduled.check();
    expect((await other.scheduled.read()).last).toMatchObject({ at: '2030-01-31T13:00:00.000Z', state: 'running' });
  }
  finish();
  await scheduled.stop();
  expect((await scheduled.read()).last).toMatchObject({ at: '2030-01-31T13:00:00.000Z', state: 'done' });
});

it('[BACKUP-31] while the command fails, the newest backups that it failed for stay besides the others, and no more', async () => {
  const atHour = (hour: number) => {
    nowMs = Date.UTC(2030, 0, 31, hour);
  };
  const works = newScheduled(program('works', 'exit 0'));
  const fails = newScheduled(program('fails', 'exit 1'));
  await works.scheduled.check();
  for (const hour of [13, 14]) {
    atHour(hour);
    await works.scheduled.check();
  }
  for (const hour of [15, 16, 17, 18]) {
    atHour(hour);
    await fails.scheduled.check();
  }
  const names = (hours: readonly number[]) => hours.map((hour) => `2030-01-31T${hour}-00-00-000Z`);
  expect(readdirSync(works.folder).sort()).toEqual(names([13, 14, 17, 18]));
  atHour(19);
  await works.scheduled.check();
  expect(readdirSync(works.folder).sort()).toEqual(names([18, 19]));
});

it('[BACKUP-31] a scheduled backup is made also if there are BACKUPS_MAX: one that the command failed for goes first, else the oldest', async () => {
  const { scheduled, folder } = newScheduled(program('fails', 'exit 1'));
  await scheduled.check();
  mkdirSync(folder);
  for (let index = 0; index < BACKUPS_MAX; index++) {
    const made = join(folder, `b${String(index).padStart(3, '0')}`);
    mkdirSync(made);
    writeFileSync(join(made, 'tidemark.json'), '{"product":"tidemark","state":"backup"}');
    utimesSync(join(made, 'tidemark.json'), index, index);
  }
  const made: (string | null | undefined)[] = [];
  for (const hour of [13, 14, 15]) {
    nowMs = Date.UTC(2030, 0, 31, hour);
    await scheduled.check();
    made.push((await scheduled.read()).last?.name);
  }
  expect(made).toEqual(['2030-01-31T13-00-00-000Z', '2030-01-31T14-00-00-000Z', '2030-01-31T15-00-00-000Z']);
  const left = readdirSync(folder).sort();
  expect([left.length, left[0], left[1], left[2]]).toEqual([BACKUPS_MAX, '2030-01-31T15-00-00-000Z', 'b001', 'b002']);
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
