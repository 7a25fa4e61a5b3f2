import { temporaryFolder } from '@tidemark/testing/kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { JobsHistory } from './jobs-history.ts';
import type { Line } from './line.ts';
import { runJobsCrashes } from './run-jobs-crashes.ts';

/** Few, for every day; `npm run sim -- crash:jobs` kills more. */
const ROUNDS = 3;
/** On a slow machine all kills of one run may hit no running job; then there is another run. */
const RUNS_MAX = 5;

describe(`${ROUNDS} kills of a process that enqueues and runs jobs, in one folder`, () => {
  const histories: JobsHistory[] = [];

  const sum = (count: (history: JobsHistory) => number) => histories.reduce((total, one) => total + count(one), 0);

  beforeAll(async () => {
    for (let run = 1; run <= RUNS_MAX && sum(({ repeated }) => repeated) === 0; run++) {
      const folder = await temporaryFolder();
      histories.push(await runJobsCrashes({ rounds: ROUNDS, seed: run, folder: folder.path }));
      await folder.remove();
    }
  });

  it('[JOB-28] no enqueued job is lost, no finished job runs again, the order is kept, and batches are whole', () => {
    expect(histories.flatMap(({ problems }) => problems)).toEqual([]);
  });

  it('the kills of a process with jobs hit running jobs, which run again', () => {
    expect(sum((history) => history.count('enqueued'))).toBeGreaterThan(ROUNDS);
    expect(sum((history) => history.count('acked'))).toBeGreaterThan(ROUNDS);
    expect(sum(({ repeated }) => repeated)).toBeGreaterThan(0);
  });
});

it('a process that confirms its steps before it performs them fails within a few kills', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const { problems } = await runJobsCrashes({ rounds: 40, seed: 2, folder: folder.path, confirmsEarly: true });
  expect(problems).not.toEqual([]);
});

describe('the check of jobs', () => {
  const ENQUEUED: readonly Line[] = [
    { say: 'enqueue', names: ['a 0', 'a 1'] },
    { say: 'enqueued', names: ['a 0', 'a 1'] },
  ];
  const done = (name: string): readonly Line[] => [
    { say: 'run', name },
    { say: 'ack', name },
    { say: 'acked', name },
  ];

  it.each<[what: string, lines: readonly Line[], left: readonly string[], problems: readonly unknown[]]>([
    ['nothing when all is well', [...ENQUEUED, ...done('a 0')], ['a 1'], []],
    ['nothing about jobs that were not confirmed', [{ say: 'enqueue', names: ['a 0', 'a 1'] }], [], []],
    [
      'a job that is gone',
      [...ENQUEUED, ...done('a 0')],
      [],
      [
        expect.stringContaining('never ran'),
        expect.stringContaining('a 1 is gone'),
        expect.stringContaining('only a 0'),
      ],
    ],
    ['a job that ran again', [...ENQUEUED, ...done('a 0')], ['a 0', 'a 1'], [expect.stringContaining('ran again')]],
    [
      'jobs that ran in the wrong order',
      ENQUEUED,
      ['a 1', 'a 0'],
      [expect.stringContaining('ran before'), expect.stringContaining('had run already')],
    ],
    [
      'a batch of which only a part was enqueued',
      [{ say: 'enqueue', names: ['a 0', 'a 1'] }],
      ['a 0'],
      [expect.stringContaining('only a 0')],
    ],
  ])('the check of jobs reports %s', (_what, lines, left, problems) => {
    const history = new JobsHistory();
    for (const line of lines) history.add(line);
    history.finish(left);
    expect(history.problems).toEqual(problems);
  });
});
