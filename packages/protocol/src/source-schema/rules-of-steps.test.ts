import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../json/canonical-json.ts';
import type { Otherwise, Step } from './step.ts';
import { type AttributeValues, renewed, toNewer, toOlder, Untranslatable } from './translate.ts';

const UNCHANGED = 'what the object has stays';

/** What the attributes of an object become when an older app sets some. */
function written(steps: readonly Step[], current: AttributeValues | null, set: AttributeValues): unknown {
  const change = toNewer({ set, removed: [] }, current, steps);
  return Object.keys(change.set).length + change.removed.length === 0 ? UNCHANGED : change;
}

type Row = readonly [string, Step, AttributeValues | null, AttributeValues, Partial<Record<string, JsonValue>>];

const value = { value: 'other' } as const;
/** A write that a step cannot express, and what becomes of it under each rule; absent: it is refused. */
const INEXACT: readonly Row[] = [
  [
    'remove',
    { step: 'remove', attribute: 'a' },
    { b: 1 },
    { a: 1 },
    { drop: UNCHANGED, nearest: UNCHANGED, value: UNCHANGED },
  ],
  [
    'map',
    { step: 'map', attribute: 'a', values: [['x', 'y']] },
    { a: 'y' },
    { a: 'z' },
    { drop: UNCHANGED, nearest: { set: { a: 'z' }, removed: [] }, value: { set: { a: 'other' }, removed: [] } },
  ],
  [
    'convert to a number',
    { step: 'convert', attribute: 'a', to: 'number' },
    { a: 1 },
    { a: '007' },
    { drop: UNCHANGED, nearest: { set: { a: 7 }, removed: [] }, value: { set: { a: 'other' }, removed: [] } },
  ],
  [
    'convert to a text',
    { step: 'convert', attribute: 'a', to: 'text' },
    { a: '1' },
    { a: true },
    { drop: UNCHANGED, value: { set: { a: 'other' }, removed: [] } },
  ],
  [
    'convert to one value',
    { step: 'convert', attribute: 'a', to: 'one' },
    { a: 1 },
    { a: [1, 2] },
    { drop: UNCHANGED, nearest: { set: { a: 1 }, removed: [] }, value: { set: { a: 'other' }, removed: [] } },
  ],
  [
    'unnest',
    { step: 'unnest', attribute: 'a', members: { x: 'ax' } },
    { ax: 1 },
    { a: { x: 2, y: 3 } },
    { drop: UNCHANGED, nearest: { set: { ax: 2 }, removed: [] }, value: UNCHANGED },
  ],
  [
    'join',
    { step: 'join', attributes: ['a', 'b'], into: 'c', separator: ' ' },
    { c: 'Ann Lee' },
    { a: 'Mary Ann' },
    {
      drop: UNCHANGED,
      nearest: { set: { c: 'Mary Ann Lee' }, removed: [] },
      value: { set: { c: 'other' }, removed: [] },
    },
  ],
];

const RULES: readonly (readonly [string, Otherwise | undefined])[] = [
  ['absent', undefined],
  ['refuse', 'refuse'],
  ['drop', 'drop'],
  ['nearest', 'nearest'],
  ['value', value],
];

describe('what a step cannot express', () => {
  it.each(INEXACT)(
    '[VERSION-6] a change that %s cannot express follows the rule of the step',
    (_name, step, current, set, expected) => {
      for (const [name, otherwise] of RULES) {
        const withRule = (otherwise === undefined ? step : { ...step, otherwise }) as Step;
        const what = expected[name];
        if (what === undefined) expect(() => written([withRule], current, set), name).toThrow(Untranslatable);
        else expect(written([withRule], current, set), name).toEqual(what);
      }
    },
  );

  it('[VERSION-6] a refusal names the attribute of the older version and why it has no counterpart', () => {
    const steps: readonly Step[] = [{ step: 'map', attribute: 'state', values: [['open', 'todo']] }];
    expect(() => written(steps, null, { state: 'late' })).toThrow(
      '"state" "late" has no counterpart in the newer version',
    );
  });

  it('[VERSION-6] an older app that uses a name which is new by now is refused, because it means something else', () => {
    const steps: readonly Step[] = [{ step: 'rename', attribute: 'a', to: 'b' }];
    expect(() => written(steps, { b: 1 }, { b: 2 })).toThrow('"b" means something else in a newer version');
  });

  it('[VERSION-2] an older app that sets one member of what is nested by now keeps the others', () => {
    const steps: readonly Step[] = [{ step: 'nest', into: 'address', members: { street: 'street', town: 'city' } }];
    const current = { address: { street: 'Elm', city: 'Bern', country: 'CH' } };
    expect(written(steps, current, { town: 'Basel' })).toEqual({
      set: { address: { street: 'Elm', city: 'Basel', country: 'CH' } },
      removed: [],
    });
  });

  it('[VERSION-2] an older app that knows one value of a list changes that one and keeps the others', () => {
    const steps: readonly Step[] = [{ step: 'convert', attribute: 'a', to: 'list' }];
    expect(toOlder({ a: [1, 2, 3] }, steps)).toEqual({ a: 1 });
    expect(written(steps, { a: [1, 2, 3] }, { a: 9 })).toEqual({ set: { a: [9, 2, 3] }, removed: [] });
  });

  it('[VERSION-2] an older app that removes the one value it knows of several is refused, or leaves the others', () => {
    const steps = (otherwise: Otherwise): readonly Step[] => [
      { step: 'convert', attribute: 'a', to: 'list', otherwise },
    ];
    const removal = { set: {}, removed: ['a'] };
    expect(() => toNewer(removal, { a: [1, 2] }, steps('refuse'))).toThrow(Untranslatable);
    expect(toNewer(removal, { a: [1, 2] }, steps('nearest'))).toEqual({ set: { a: [2] }, removed: [] });
    expect(toNewer(removal, { a: [1] }, steps('refuse'))).toEqual({ set: {}, removed: ['a'] });
  });

  it('[VERSION-40] an older app that writes null in one of two joined attributes is refused, and does not keep what it overwrote', () => {
    const join = { step: 'join', attributes: ['a', 'b'], into: 'c', separator: ' ' } as const;
    expect(() => written([join], { c: 'Ann Lee' }, { b: null })).toThrow(Untranslatable);
    expect(written([{ ...join, otherwise: 'nearest' }], { c: 'Ann Lee' }, { b: null })).toEqual({
      set: { c: 'Ann' },
      removed: [],
    });
    expect(written([join], { c: 'Ann' }, { a: null })).toEqual({ set: { c: null }, removed: [] });
  });

  it('[VERSION-40] an older app that writes null over the one value it knows of several is refused, or leaves the others', () => {
    const list = { step: 'convert', attribute: 'a', to: 'list' } as const;
    expect(() => written([list], { a: [1, 2] }, { a: null })).toThrow(Untranslatable);
    expect(written([{ ...list, otherwise: 'drop' }], { a: [1, 2] }, { a: null })).toBe(UNCHANGED);
    expect(written([{ ...list, otherwise: 'nearest' }], { a: [1, 2] }, { a: null })).toEqual({
      set: { a: [2] },
      removed: [],
    });
    expect(written([list], { a: [1] }, { a: null })).toEqual({ set: { a: null }, removed: [] });
    expect(written([list], { a: [null, 2] }, { a: null })).toEqual({ set: { a: [null, 2] }, removed: [] });
  });

  it('[VERSION-2] an older app that removes the last member of what is nested by now removes the attribute', () => {
    const steps: readonly Step[] = [{ step: 'nest', into: 'address', members: { town: 'city' } }];
    const removal = { set: {}, removed: ['town'] };
    expect(toNewer(removal, { address: { city: 'Bern' } }, steps)).toEqual({ set: {}, removed: ['address'] });
  });

  it('[VERSION-5] what a newer app has written counts where an object has the attributes of both versions', () => {
    const steps: readonly Step[] = [{ step: 'split', attribute: 'a', into: ['b', 'c'], separator: ' ' }];
    expect(renewed({ a: 'Ann Lee', b: 'Bea' }, steps)).toEqual({ b: 'Bea' });
  });

  it('[VERSION-40] null is a value: it is converted and shown as any other, and can be what a step names', () => {
    const convert = (to: 'list' | 'one' | 'number') => ({ step: 'convert', attribute: 'a', to }) as const;
    expect(renewed({ a: [null] }, [convert('one')])).toEqual({ a: null });
    expect(toOlder({ a: [null, 1] }, [{ ...convert('list'), shown_as: 0 }])).toEqual({ a: null });
    const otherwise = { value: null };
    expect(renewed({ a: 'x' }, [{ ...convert('number'), otherwise }])).toEqual({ a: null });
    expect(written([{ ...convert('number'), otherwise }], { a: 1 }, { a: 'x' })).toEqual({
      set: { a: null },
      removed: [],
    });
  });

  it('[VERSION-6] older apps see what the step names in place of a value that they cannot know, or nothing', () => {
    const map = { step: 'map', attribute: 'a', values: [['open', 'todo']] } as const;
    expect(toOlder({ a: 'paused' }, [map])).toEqual({});
    expect(toOlder({ a: 'paused' }, [{ ...map, shown_as: 'open' }])).toEqual({ a: 'open' });
    expect(toOlder({ b: 1 }, [{ step: 'remove', attribute: 'a', shown_as: 0 }])).toEqual({ b: 1, a: 0 });
    expect(toOlder({ a: 'x' }, [{ step: 'convert', attribute: 'a', to: 'text', shown_as: -1 }])).toEqual({ a: -1 });
  });

  it('[VERSION-5] a stored value that cannot be converted stays, unless the step names another', () => {
    expect(renewed({ a: 'x' }, [{ step: 'convert', attribute: 'a', to: 'number' }])).toEqual({ a: 'x' });
    expect(renewed({ a: 'x' }, [{ step: 'convert', attribute: 'a', to: 'number', otherwise: { value: 0 } }])).toEqual({
      a: 0,
    });
    expect(renewed({ a: 'z' }, [{ step: 'map', attribute: 'a', values: [['x', 'y']] }])).toEqual({ a: 'z' });
  });

  it('[VERSION-1] several old values may become one, and older apps see the first of them', () => {
    const steps: readonly Step[] = [
      {
        step: 'map',
        attribute: 'a',
        values: [
          ['open', 'todo'],
          ['late', 'todo'],
        ],
      },
    ];
    expect(written(steps, null, { a: 'late' })).toEqual({ set: { a: 'todo' }, removed: [] });
    expect(toOlder({ a: 'todo' }, steps)).toEqual({ a: 'open' });
  });
});

const FILE = { $file: { sha256: '0'.repeat(64), size: 1, type: 'image/png' } };

describe('translation at its edges', () => {
  it('[VERSION-6] a text of digits that no number holds exactly becomes none', () => {
    const steps: readonly Step[] = [{ step: 'convert', attribute: 'a', to: 'number' }];
    for (const text of ['9007199254740992', '-9007199254740992', '1e+21', 'Infinity', 'NaN', '-0', '']) {
      expect(() => written(steps, null, { a: text })).toThrow(Untranslatable);
      expect(renewed({ a: text }, steps)).toEqual({ a: text });
    }
    expect(written(steps, null, { a: '9007199254740991' })).toEqual({ set: { a: 9_007_199_254_740_991 }, removed: [] });
  });

  it('[VERSION-2] a reference to a file is one value, and not an object with members', () => {
    const nest: readonly Step[] = [{ step: 'nest', into: 'address', members: { street: 'street' } }];
    expect(written(nest, { address: FILE }, { street: 'Elm' })).toEqual({
      set: { address: { street: 'Elm' } },
      removed: [],
    });
    const unnest: readonly Step[] = [{ step: 'unnest', attribute: 'photo', members: { $file: 'file' } }];
    expect(renewed({ photo: FILE }, unnest)).toEqual({ photo: FILE });
    expect(() => written(unnest, null, { photo: FILE })).toThrow(Untranslatable);
  });

  it('[VERSION-6] an older app cannot remove what a step brings under a name that the app uses otherwise', () => {
    const steps: readonly Step[] = [{ step: 'rename', attribute: 'title', to: 'name' }];
    const change = { set: {}, removed: ['name'] };
    expect(() => toNewer(change, { name: 'Pump' }, steps)).toThrow('"name" means something else in a newer version');
  });

  it('[VERSION-2] an update by an older app leaves an attribute alone that a step adds', () => {
    const steps: readonly Step[] = [{ step: 'add', attribute: 'rank', value: 7 }];
    expect(written(steps, { a: 0, rank: 9 }, { a: 1 })).toEqual({ set: { a: 1 }, removed: [] });
    expect(written(steps, { a: 0 }, { a: 1 })).toEqual({ set: { a: 1 }, removed: [] });
    expect(written(steps, null, { a: 1 })).toEqual({ set: { a: 1, rank: 7 }, removed: [] });
  });

  it('[VERSION-4] names may go round from one version to the next', () => {
    const rename = (attribute: string, to: string): Step => ({ step: 'rename', attribute, to });
    const swap: readonly Step[] = [rename('a', 't'), rename('b', 'a'), rename('t', 'b')];
    expect(toOlder({ a: 1, b: 2 }, swap)).toEqual({ a: 2, b: 1 });
    expect(written(swap, { a: 1, b: 2 }, { a: 3 })).toEqual({ set: { b: 3 }, removed: [] });
    expect(written(swap, { a: 1, b: 2 }, { a: 3, b: 4 })).toEqual({ set: { b: 3, a: 4 }, removed: [] });
    expect(toNewer({ set: {}, removed: ['b'] }, { a: 1, b: 2 }, swap)).toEqual({ set: {}, removed: ['a'] });
  });
});
