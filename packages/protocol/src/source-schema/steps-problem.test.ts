import { describe, expect, it } from 'vitest';
import type { Step } from './step.ts';
import { stepsProblem } from './steps-problem.ts';

describe('the steps of one version', () => {
  it.each<[string, readonly Step[], number, string]>([
    [
      'brings back a name that it takes away',
      [
        { step: 'rename', attribute: 'a', to: 'b' },
        { step: 'add', attribute: 'a', value: 1 },
      ],
      1,
      '"a" is also taken away: use two versions',
    ],
    [
      'brings a name twice',
      [
        { step: 'rename', attribute: 'a', to: 'c' },
        { step: 'join', attributes: ['b', 'd'], into: 'c', separator: ' ' },
      ],
      1,
      '"c" is brought by two steps',
    ],
    [
      'takes a name away twice',
      [
        { step: 'rename', attribute: 'a', to: 'b' },
        { step: 'remove', attribute: 'a' },
      ],
      1,
      '"a" is taken away by two steps',
    ],
    [
      'changes a value twice',
      [
        { step: 'map', attribute: 'a', values: [['x', 'y']] },
        { step: 'convert', attribute: 'a', to: 'list' },
      ],
      1,
      '"a" is changed by two steps: use two versions',
    ],
    [
      'changes a value under a name that it takes away',
      [
        { step: 'rename', attribute: 'a', to: 'b' },
        { step: 'convert', attribute: 'a', to: 'text' },
      ],
      1,
      '"a" is also taken away: name what it becomes',
    ],
    [
      'has a value that is old and new',
      [
        {
          step: 'map',
          attribute: 'a',
          values: [
            ['x', 'y'],
            ['y', 'z'],
          ],
        },
      ],
      0,
      '"y" is an old value and a new one with another meaning: use two versions',
    ],
  ])('[VERSION-7] a version that %s is refused', (_what, steps, at, detail) => {
    expect(stepsProblem(steps)).toEqual({ at, detail });
  });

  it('[VERSION-7] a version may rename an attribute and change its value', () => {
    const steps: readonly Step[] = [
      { step: 'rename', attribute: 'status', to: 'state' },
      {
        step: 'map',
        attribute: 'state',
        values: [
          ['open', 'todo'],
          ['done', 'done'],
        ],
      },
    ];
    expect(stepsProblem(steps)).toBeNull();
  });
});
