import { Refusal, STEP_VALUES_MAX, STEPS_MAX } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { admitSteps } from './admit-steps.ts';

function refusalOf(run: () => unknown): Refusal {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

const STEPS = [
  { step: 'rename', attribute: 'title', to: 'name' },
  { step: 'add', attribute: 'tags', value: [] },
  { step: 'remove', attribute: 'old', otherwise: 'drop', shown_as: 0 },
  { step: 'map', attribute: 'state', values: [['open', 'todo']], otherwise: { value: 'todo' } },
  { step: 'convert', attribute: 'price', to: 'text', otherwise: 'refuse' },
  { step: 'nest', into: 'address', members: { street: 'street' } },
  { step: 'unnest', attribute: 'size', members: { w: 'width', h: 'height' }, otherwise: 'nearest' },
  { step: 'split', attribute: 'person', into: ['first', 'last'], separator: ' ' },
  { step: 'join', attributes: ['zip', 'town'], into: 'place', separator: ' ' },
];

const MISTAKES: readonly (readonly [string, unknown, string, string])[] = [
  ['a step that does not exist', { step: 'compute' }, '/steps/0/step', 'must be one of rename, add'],
  ['a step without what it needs', { step: 'rename', attribute: 'a' }, '/steps/0', 'needs "to"'],
  [
    'a member that a step does not have',
    { step: 'rename', attribute: 'a', to: 'b', shown_as: 1 },
    '/steps/0/shown_as',
    'is not a part of a step "rename"',
  ],
  ['a name that no attribute can have', { step: 'rename', attribute: 'a', to: '' }, '/steps/0/to', ''],
  [
    'a conversion to something unknown',
    { step: 'convert', attribute: 'a', to: 'date' },
    '/steps/0/to',
    'must be one of text',
  ],
  [
    'a rule that does not exist',
    { step: 'remove', attribute: 'a', otherwise: 'ignore' },
    '/steps/0/otherwise',
    'must be "refuse"',
  ],
  ['a map without pairs', { step: 'map', attribute: 'a', values: [] }, '/steps/0/values', 'a list of pairs'],
  [
    'a map with half a pair',
    { step: 'map', attribute: 'a', values: [['x']] },
    '/steps/0/values/0',
    'a pair [old, new]',
  ],
  [
    'a map of one value to two',
    {
      step: 'map',
      attribute: 'a',
      values: [
        ['x', 1],
        ['x', 2],
      ],
    },
    '/steps/0/values/1',
    'twice',
  ],
  ['a split into one', { step: 'split', attribute: 'a', into: ['b'], separator: ' ' }, '/steps/0/into', 'at least two'],
  [
    'a split at nothing',
    { step: 'split', attribute: 'a', into: ['b', 'c'], separator: '' },
    '/steps/0/separator',
    'at least one character',
  ],
  [
    'two members of one name',
    { step: 'nest', into: 'a', members: { b: 'x', c: 'x' } },
    '/steps/0/members',
    'names a target twice',
  ],
  ['no members', { step: 'nest', into: 'a', members: {} }, '/steps/0/members', 'at least one member'],
];

describe('the admission of steps', () => {
  it('[SCHEMA-3] steps of every kind are admitted as they are', () => {
    expect(admitSteps(STEPS)).toEqual(STEPS);
  });

  it.each(MISTAKES)(
    '[SCHEMA-3] %s is refused, and the refusal names the place and the reason',
    (_what, step, at, detail) => {
      const { code, flaws } = refusalOf(() => admitSteps([step]));
      expect(code).toBe('invalid_value');
      expect(flaws).toEqual([{ pointer: at, detail: expect.stringContaining(detail) }]);
    },
  );

  it('[SCHEMA-3] a version that brings back a name which it takes away is refused at that step', () => {
    const steps = [
      { step: 'rename', attribute: 'a', to: 'b' },
      { step: 'rename', attribute: 'c', to: 'a' },
    ];
    const { flaws } = refusalOf(() => admitSteps(steps));
    expect(flaws).toEqual([{ pointer: '/steps/1', detail: '"a" is also taken away: use two versions' }]);
  });

  it('[SCHEMA-13] a version has so many steps, and a step so many values, and not one more', () => {
    const adding = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ step: 'add', attribute: `a${index}`, value: 1 }));
    const mapping = (count: number) => [
      { step: 'map', attribute: 'a', values: Array.from({ length: count }, (_, index) => [index, `${index}`]) },
    ];
    for (const [fits, exceeds] of [
      [adding(STEPS_MAX), adding(STEPS_MAX + 1)],
      [mapping(STEP_VALUES_MAX), mapping(STEP_VALUES_MAX + 1)],
    ]) {
      expect(admitSteps(fits)).toEqual(fits);
      expect(refusalOf(() => admitSteps(exceeds)).code).toBe('limit_exceeded');
    }
  });
});
