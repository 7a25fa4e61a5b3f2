import { temporaryFolder } from '@tidemark/testing/kit';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { JobsHistory } from './jobs-history.ts';
import type { Line } from './line.ts';
import { runJobsCrashes } from './run-jobs-crashes.ts';

const ROUNDS = 12;

describe(`${ROUNDS} kills of a process that enqueues and runs jobs, in one folder`, () => {
  let history: JobsHistory;

  beforeAll(async () => {
    const folder = await temporaryFolder();
    history = await runJobsCrashes({ rounds: ROUNDS, seed: 1, folder: folder.path });
    return folder.remove;
  });

  it('[JOB-28] no enqueued job is lost, no finished job runs again, the order is kept, and batches are whole', () => {
    expect(history.problems).toEqual([]);
  });

  it('the kills of a process with jobs hit running jobs, which run again', () => {
    expect(history.count('enqueued')).toBeGreaterThan(ROUNDS);
    expect(history.count('acked')).toBeGreaterThan(ROUNDS);
    expect(history.repeated).toBeGreaterThan(0);
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
