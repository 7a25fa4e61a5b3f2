import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { temporaryFolder } from '@tidemark/testing/kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTidemark } from './open-tidemark.ts';
import type { CrashRule } from './problem.ts';
import { type RoundReport, replayCommand, runCrashes } from './run-crashes.ts';

const ROUNDS = 12;
const SEED = 1;

describe(`${ROUNDS} kills of a working server, in one folder (${replayCommand({ rounds: ROUNDS, seed: SEED })})`, () => {
  let reports: readonly RoundReport[];
  let kept = '';

  beforeAll(async () => {
    const folder = await temporaryFolder();
    reports = await runCrashes({ rounds: ROUNDS, seed: SEED, folder: folder.path });
    kept = `the folder was kept: ${folder.path}`;
    return reports.every(({ problems }) => problems.length === 0) ? folder.remove : undefined;
  });

  const expectNone = (rule: CrashRule) => {
    const problems = reports.flatMap((report) => report.problems);
    expect(
      problems.filter((problem) => problem.rule === rule),
      kept,
    ).toEqual([]);
  };

  it('[CRASH-1] nothing acknowledged is lost', () => {
    expectNone('CRASH-1');
  });

  it('[CRASH-2] what was under way is there wholly or not at all', () => {
    expectNone('CRASH-2');
  });

  it('[CRASH-3] nothing else has changed', () => {
    expectNone('CRASH-3');
  });

  it('[CRASH-4] size, checksum and all else that is kept beside the records agree with them', () => {
    expectNone('CRASH-4');
  });

  it('[CRASH-5] epochs stay, heads and floors never go back, and no seq stands for two things', () => {
    expectNone('CRASH-5');
  });

  it('[CRASH-6] devices go on with the tokens they had and come to hold exactly the document', () => {
    expectNone('CRASH-6');
  });

  it('[CRASH-7] the folder opens again, a new one included', () => {
    expectNone('CRASH-7');
  });

  it('the kills hit: writes under way that were taken, and some that were not', () => {
    const sum = (count: (report: RoundReport) => number) => reports.reduce((total, report) => total + count(report), 0);
    expect(reports).toHaveLength(ROUNDS);
    expect(sum(({ settlement }) => settlement.applied)).toBeGreaterThan(0);
    expect(sum(({ settlement }) => settlement.notApplied)).toBeGreaterThan(0);
    expect(sum(({ acknowledged }) => acknowledged)).toBeGreaterThan(ROUNDS);
  });
});

describe('a folder whose making was cut short', () => {
  const mark = { product: 'tidemark', engine: 'embedded', format: 1, state: 'new' };
  const markText = `${JSON.stringify(mark, null, 2)}\n`;

  it.each<[when: string, files: Readonly<Record<string, string>>]>([
    ['before anything was written', {}],
    ['before the mark was written', { 'tidemark.json.4711': '' }],
    ['while the mark was written', { 'tidemark.json.4711': markText.slice(0, 20) }],
    ['before the mark was put in place', { 'tidemark.json.4711': markText }],
    ['before the store was made', { 'tidemark.json': markText }],
    ['while the store was made', { 'tidemark.json': markText, 'store.mdb': '', 'store.mdb-lock': '' }],
    [
      'before the mark of a finished store was put in place',
      { 'tidemark.json': markText, 'tidemark.json.4711': markText },
    ],
  ])('[CRASH-7] opens: %s', async (_, files) => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
    const tidemark = await openTidemark(folder.path);
    onTestFinished(() => tidemark.store.close());
    expect(await tidemark.store.epoch()).toMatch(/./);
  });

  it('[CRASH-7] keeps what is in it, when only the mark of a finished store was not put in place', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const made = await openTidemark(folder.path);
    const epoch = await made.store.epoch();
    await made.users.create({ attributes: { login: 'ann', password: 'open sesame' } });
    await made.store.close();
    writeFileSync(join(folder.path, 'tidemark.json'), markText);
    const again = await openTidemark(folder.path);
    onTestFinished(() => again.store.close());
    expect(await again.store.epoch()).toBe(epoch);
    expect(await again.users.list()).toEqual(['ann']);
  });

  it('a folder somebody else uses is still left alone', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    mkdirSync(join(folder.path, 'photos'));
    await expect(openTidemark(folder.path)).rejects.toThrow('is not a Tidemark data folder');
    expect(existsSync(join(folder.path, 'tidemark.json'))).toBe(false);
  });
});
