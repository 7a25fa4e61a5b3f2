import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { JsonValue } from '../json/canonical-json.ts';
import type { Step } from './step.ts';
import { stepsProblem } from './steps-problem.ts';
import { type AttributeChange, type AttributeValues, renewed, toNewer, toOlder, Untranslatable } from './translate.ts';

type Kind = 'text' | 'number' | 'number as text' | 'status' | { readonly list: Kind } | { readonly members: Kinds };
type Kinds = ReadonlyMap<string, Kind>;

const STATUS: readonly (readonly [string, string])[] = [
  ['open', 'todo'],
  ['late', 'overdue'],
  ['done', 'closed'],
];

function someValue(kind: Kind): fc.Arbitrary<JsonValue> {
  if (kind === 'text') return fc.constantFrom('', 'Ann', 'Ann Lee', ' Lee', 'Ann  Lee', 'Mary Ann Lee ', 'ä😀');
  if (kind === 'number')
    return fc.oneof(
      fc.integer({ min: -9, max: 9 }),
      fc.double({ noNaN: true, min: -1e6, max: 1e6 }).map((x) => x + 0),
    );
  if (kind === 'number as text') return fc.integer({ min: -99, max: 99 }).map(String);
  if (kind === 'status') return fc.constantFrom('open', 'late', 'done');
  if ('list' in kind) return fc.array(someValue(kind.list), { minLength: 1, maxLength: 1 });
  return objectOf(kind.members, 1);
}

function objectOf(kinds: Kinds, minKeys = 0): fc.Arbitrary<AttributeValues> {
  const members = Object.fromEntries([...kinds].map(([name, kind]) => [name, someValue(kind)]));
  return fc
    .record(members, { requiredKeys: [] })
    .filter((object) => Object.keys(object).length >= minKeys) as fc.Arbitrary<AttributeValues>;
}

/** One choice of a step: what it is, and which attributes it takes. */
interface Choice {
  readonly step: Step['step'];
  readonly at: number;
  readonly other: number;
}

const CHOICES = fc.array(
  fc.record({
    step: fc.constantFrom(
      ...(['rename', 'add', 'remove', 'map', 'convert', 'nest', 'unnest', 'split', 'join'] as const),
    ),
    at: fc.nat(20),
    other: fc.nat(20),
  }),
  { minLength: 1, maxLength: 6 },
);

/** Makes steps that fit the attributes, each from what the steps before have left. */
function stepsFor(start: Kinds, choices: readonly Choice[], isOneVersion = false): readonly Step[] {
  const kinds = new Map(start);
  let fresh = 0;
  const name = () => `n${fresh++}`;
  const steps: Step[] = [];
  for (const choice of choices) {
    const names = [...kinds.keys()];
    const pick = (fits: (kind: Kind) => boolean, at: number) => {
      const fitting = names.filter((one) => fits(kinds.get(one) as Kind));
      return fitting[at % Math.max(1, fitting.length)];
    };
    const before = new Map(kinds);
    const step = stepOf(choice, kinds, { pick, name });
    if (step === null) continue;
    if (isOneVersion && stepsProblem([...steps, step]) !== null) {
      kinds.clear();
      for (const [attribute, kind] of before) kinds.set(attribute, kind);
    } else steps.push(step);
  }
  return steps;
}

interface Names {
  readonly pick: (fits: (kind: Kind) => boolean, at: number) => string | undefined;
  readonly name: () => string;
}

function stepOf({ step, at, other }: Choice, kinds: Map<string, Kind>, { pick, name }: Names): Step | null {
  const take = (one: string) => {
    const kind = kinds.get(one) as Kind;
    kinds.delete(one);
    return kind;
  };
  const any = pick(() => true, at);
  switch (step) {
    case 'add': {
      const attribute = name();
      kinds.set(attribute, 'number');
      return { step, attribute, value: 7 };
    }
    case 'rename': {
      if (any === undefined) return null;
      const to = name();
      kinds.set(to, take(any));
      return { step, attribute: any, to };
    }
    case 'remove': {
      if (any === undefined) return null;
      take(any);
      return { step, attribute: any, ...(other % 2 === 0 ? { otherwise: 'drop' } : {}) };
    }
    case 'map': {
      const attribute = pick((kind) => kind === 'status', at);
      if (attribute === undefined) return null;
      kinds.set(attribute, 'text');
      return { step, attribute, values: STATUS };
    }
    case 'convert': {
      if (any === undefined) return null;
      const kind = kinds.get(any) as Kind;
      if (kind === 'number' && other % 2 === 0) {
        kinds.set(any, 'text');
        return { step, attribute: any, to: 'text' };
      }
      if (kind === 'number as text' && other % 2 === 0) {
        kinds.set(any, 'number');
        return { step, attribute: any, to: 'number' };
      }
      const isList = typeof kind === 'object' && 'list' in kind;
      kinds.set(any, isList ? kind.list : { list: kind });
      return { step, attribute: any, to: isList ? 'one' : 'list' };
    }
    case 'nest': {
      const [first, second] = [any, pick(() => true, other)];
      if (first === undefined || second === undefined || first === second) return null;
      const into = name();
      kinds.set(into, {
        members: new Map([
          ['x', take(first)],
          ['y', take(second)],
        ]),
      });
      return { step, into, members: { [first]: 'x', [second]: 'y' } };
    }
    case 'unnest': {
      const attribute = pick((kind) => typeof kind === 'object' && 'members' in kind, at);
      if (attribute === undefined) return null;
      const { members } = take(attribute) as { readonly members: Kinds };
      const moved = [...members].map(([member, kind]) => [member, name(), kind] as const);
      for (const [, now, kind] of moved) kinds.set(now, kind);
      return { step, attribute, members: Object.fromEntries(moved.map(([member, now]) => [member, now])) };
    }
    case 'split': {
      const attribute = pick((kind) => kind === 'text', at);
      if (attribute === undefined) return null;
      take(attribute);
      const into = [name(), name()];
      for (const one of into) kinds.set(one, 'text');
      return { step, attribute, into, separator: ' ' };
    }
    case 'join': {
      const first = pick((kind) => kind === 'text', at);
      const second = pick((kind) => kind === 'text', other);
      if (first === undefined || second === undefined || first === second) return null;
      for (const one of [first, second]) take(one);
      const into = name();
      kinds.set(into, 'text');
      return { step, attributes: [first, second], into, separator: ' ' };
    }
  }
}

const KINDS: Kinds = new Map<string, Kind>([
  ['name', 'text'],
  ['title', 'text'],
  ['price', 'number'],
  ['code', 'number as text'],
  ['status', 'status'],
  ['tags', { list: 'text' }],
  [
    'place',
    {
      members: new Map<string, Kind>([
        ['street', 'text'],
        ['zip', 'number as text'],
      ]),
    },
  ],
]);

const OBJECTS = { first: objectOf(KINDS, 1), second: objectOf(KINDS), removed: fc.subarray([...KINDS.keys()]) };
const CASES = fc.record({ ...OBJECTS, steps: CHOICES.map((choices) => stepsFor(KINDS, choices)) });
const ONE_VERSION = fc.record({ ...OBJECTS, steps: CHOICES.map((choices) => stepsFor(KINDS, choices, true)) });

function applied(object: AttributeValues, { set, removed }: AttributeChange): AttributeValues {
  const rest = Object.entries(object).filter(([name]) => !removed.includes(name));
  return { ...Object.fromEntries(rest), ...set };
}

/** Undefined: it has no translation. */
function newerOf(change: AttributeChange, current: AttributeValues | null, steps: readonly Step[]) {
  try {
    return toNewer(change, current, steps);
  } catch (error) {
    if (error instanceof Untranslatable) return undefined;
    throw error;
  }
}

const created = (set: AttributeValues): AttributeChange => ({ set, removed: [] });
/** What steps `remove` with `drop` take away is known to be lost. */
const lostIn = (steps: readonly Step[]) => steps.some(({ step }) => step === 'remove');

describe('translation between versions of a schema', () => {
  it('[VERSION-1] what an older app has written, it reads again', () => {
    fc.assert(
      fc.property(CASES, ({ steps, first }) => {
        const newer = newerOf(created(first), null, steps);
        if (newer === undefined || lostIn(steps)) return;
        expect(toOlder(newer.set, steps)).toEqual(first);
      }),
      { numRuns: 2_000 },
    );
  });

  it('[VERSION-2] an edit of an older app changes what it edited, and nothing else', () => {
    fc.assert(
      fc.property(CASES, ({ steps, first, second, removed: given }) => {
        const object = newerOf(created(first), null, steps)?.set;
        const removed = given.filter((name) => !Object.hasOwn(second, name) && Object.hasOwn(first, name));
        if (object === undefined || lostIn(steps)) return;
        const change = newerOf({ set: second, removed }, object, steps);
        if (change === undefined) return;
        const after = applied(object, change);
        expect(toOlder(after, steps)).toEqual(applied(first, { set: second, removed }));
      }),
      { numRuns: 2_000 },
    );
  });

  it('[VERSION-3] an app that writes back what it reads changes nothing', () => {
    fc.assert(
      fc.property(CASES, ({ steps, first }) => {
        const object = newerOf(created(first), null, steps)?.set;
        if (object === undefined || lostIn(steps)) return;
        const change = toNewer(created(toOlder(object, steps)), object, steps);
        expect(applied(object, change)).toEqual(object);
      }),
      { numRuns: 2_000 },
    );
  });

  it('[VERSION-4] steps together translate as each of them alone, in both directions', () => {
    fc.assert(
      fc.property(CASES, fc.nat(6), ({ steps, first, second, removed }, cut) => {
        const [before, after] = [steps.slice(0, cut), steps.slice(cut)];
        const object = newerOf(created(first), null, steps)?.set;
        if (object === undefined) return;
        const middle = toOlder(object, after);
        expect(toOlder(middle, before)).toEqual(toOlder(object, steps));
        const change = { set: second, removed: removed.filter((name) => !Object.hasOwn(second, name)) };
        const half = newerOf(change, middle, before);
        const whole = newerOf(change, object, steps);
        const inTwo = half === undefined ? undefined : newerOf(half, object, after);
        expect(whole && sorted(whole)).toEqual(inTwo && sorted(inTwo));
      }),
      { numRuns: 2_000 },
    );
  });

  it('[VERSION-5] an object becomes one of the newest version once, however often it is converted', () => {
    fc.assert(
      fc.property(ONE_VERSION, ({ steps, first }) => {
        const newer = newerOf(created(first), null, steps);
        if (newer === undefined) return;
        const once = renewed(first, steps);
        expect(once).toEqual(newer.set);
        expect(renewed(once, steps)).toEqual(once);
      }),
      { numRuns: 2_000 },
    );
  });
});

function sorted({ set, removed }: AttributeChange): AttributeChange {
  return { set, removed: [...removed].sort() };
}
