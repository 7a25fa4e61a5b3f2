import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { FORMAT } from '@tidemark/store-embedded';
import { temporaryFolder } from '@tidemark/testing/kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openTidemark } from './open-tidemark.ts';
import type { CrashRule } from './problem.ts';
import { type RoundReport, replayCommand, runCrashes } from './run-crashes.ts';

/** Few, for every day; `npm run sim -- crash` kills more. */
const ROUNDS = 3;
/** Its kills usually hit both kinds of writes in the first run: those that are applied, and those that are not. */
const SEED = 5;
/** On a slow machine all kills of one run may find their writes applied; then there is another run. */
const RUNS_MAX = 10;

describe(`${ROUNDS} kills of a working server, in one folder (${replayCommand({ rounds: ROUNDS, seed: SEED })})`, () => {
  let reports: readonly RoundReport[];
  let kept = '';

  const sum = (count: (report: RoundReport) => number) => reports.reduce((total, report) => total + count(report), 0);
  const hitBothKinds = () =>
    sum(({ settlement }) => settlement.applied) > 0 && sum(({ settlement }) => settlement.notApplied) > 0;

  beforeAll(async () => {
    reports = [];
    for (let run = 0; run < RUNS_MAX && !hitBothKinds(); run++) {
      const folder = await temporaryFolder();
      const more = await runCrashes({ rounds: ROUNDS, seed: SEED + run, folder: folder.path });
      reports = [...reports, ...more];
      if (more.every(({ problems }) => problems.length === 0)) await folder.remove();
      else kept += `the folder was kept: ${folder.path}`;
    }
  });

  const expectNone = (rule: CrashRule) => {
    const problems = reports.flatMap((report) => report.problems);
    expect(
      problems.filter((problem) => problem.rule === rule),
      kept,
    ).toEqual([]);
  };

  it('[CRASH-1] no acknowledged write is lost by a kill', () => {
    expectNone('CRASH-1');
  });

  it('[CRASH-2] an operation that was running at the kill is applied completely or not at all', () => {
    expectNone('CRASH-2');
  });

  it('[CRASH-3] a kill changes nothing else', () => {
    expectNone('CRASH-3');
  });

  it('[CRASH-4] after a kill, size, checksum and indexes agree with the records', () => {
    expectNone('CRASH-4');
  });

  it('[CRASH-5] after a kill, epochs stay, heads and floors never go back, and no seq is used twice', () => {
    expectNone('CRASH-5');
  });

  it('[CRASH-6] after a kill, devices continue with their tokens and converge to exactly md', () => {
    expectNone('CRASH-6');
  });

  it('[CRASH-7] the folder opens again after a kill, even a new one', () => {
    expectNone('CRASH-7');
  });

  it('the kills hit running writes, of which some were applied and some were not', () => {
    expect(hitBothKinds()).toBe(true);
    expect(sum(({ acknowledged }) => acknowledged)).toBeGreaterThan(reports.length);
  });
});

describe('a folder whose creation was interrupted', () => {
  const mark = { product: 'tidemark', engine: 'embedded', format: FORMAT, state: 'new' };
  const markText = `${JSON.stringify(mark, null, 2)}\n`;

  it.each<[when: string, files: Readonly<Record<string, string>>]>([
    ['before anything was written', {}],
    ['before the mark was written', { 'tidemark.json.4711': '' }],
    ['while the mark was written', { 'tidemark.json.4711': markText.slice(0, 20) }],
    ['before the mark was renamed', { 'tidemark.json.4711': markText }],
    ['before the store was made', { 'tidemark.json': markText }],
    ['while the store was made', { 'tidemark.json': markText, 'store.mdb': '', 'store.mdb-lock': '' }],
    ['before the mark of a finished store was renamed', { 'tidemark.json': markText, 'tidemark.json.4711': markText }],
  ])('[CRASH-7] a folder whose creation was interrupted %s opens', async (_, files) => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder.path, name), text);
    const tidemark = await openTidemark(folder.path);
    onTestFinished(() => tidemark.store.close());
    expect(await tidemark.store.epoch()).toMatch(/./);
  });

  it('[CRASH-7] a folder keeps its data if only the mark of a finished store is missing', async () => {
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

  it('the folder of another program is refused and left alone', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    mkdirSync(join(folder.path, 'photos'));
    await expect(openTidemark(folder.path)).rejects.toThrow('is not a Tidemark data folder');
    expect(existsSync(join(folder.path, 'tidemark.json'))).toBe(false);
  });
});
