import { DEFAULT_LIMITS, Refusal, type RefusalCode, VALUE_MEMBERS_MAX } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { admitIds, admitObjects } from './admit-objects.ts';

const limits = {
  ...DEFAULT_LIMITS,
  objectsPerWriteMax: 3,
  attributesPerObjectMax: 3,
  valueDepthMax: 3,
  writeUnitsMax: 60,
};
const admit = (objects: unknown) => admitObjects(objects, limits, 'objects');

const wide = { ...limits, writeUnitsMax: 10_000_000 };

class Odd {
  readonly x = 1;
  toJSON(): string {
    return 'written as it likes';
  }
}

const GOOD_VALUES: readonly unknown[] = [
  'plain',
  '',
  'quote " and \\ and \n and é and 😀',
  0,
  -0,
  -0.5e-3,
  Number.MAX_SAFE_INTEGER,
  true,
  false,
  null,
  [],
  {},
  [1, 'x', null, [true]],
  { a: 1, b: { c: [] } },
  { b: 1, a: 2, 10: 3, 9: 4 },
  { toJSON: 1 },
  new Odd(),
  Object.assign([1], { toJSON: () => 'written as it likes' }),
  Object.assign(Object.create(null), { b: 1, a: 2 }),
  Array.from({ length: 300 }, (_, index) => index),
];
const BAD_VALUES: readonly unknown[] = [
  undefined,
  () => 1,
  1n,
  Symbol('x'),
  Number.NaN,
  Number.POSITIVE_INFINITY,
  2 ** 53,
  '\ud800',
  ['\ud800'],
  [undefined],
  new Array(2),
  { '\udc00': 1 },
  JSON.parse('{"a":{"__proto__":1}}'),
  [[[[1]]]],
  { a: { b: { c: { d: 1 } } } },
];

/** What became of object 2: its attributes, or why it was refused. */
const textsOf = (objects: ReturnType<typeof admit>) =>
  Object.fromEntries([...objects].map(([id, attributes]) => [id, attributes.text]));

function outcomeOf(objects: Readonly<Record<string, unknown>>): unknown {
  try {
    return [...(admitObjects(objects, wide, 'objects').get('2') ?? [])];
  } catch (error) {
    if (error instanceof Refusal) return `${error.code} ${error.message}`;
    throw error;
  }
}

function refusal(run: () => unknown): { code: RefusalCode; pointers: string[] } {
  try {
    run();
  } catch (error) {
    if (error instanceof Refusal) return { code: error.code, pointers: error.flaws.map((flaw) => flaw.pointer) };
    throw error;
  }
  throw new Error('it was let in');
}

describe('admission of objects', () => {
  it('[VALUE-1] values keep their JSON type exactly', () => {
    const objects = JSON.parse(
      '{"1":{"s":"1","n":1,"f":-0.5e-3},"2":{"t":true,"z":null},"é":{"l":[1,"1",[]],"o":{"b":1,"a":{}}}}',
    );
    expect(textsOf(admit(objects))).toEqual({
      1: '{"s":"1","n":1,"f":-0.0005}',
      2: '{"t":true,"z":null}',
      é: '{"l":[1,"1",[]],"o":{"a":{},"b":1}}',
    });
  });

  it('[NAME-5] names of JavaScript properties, such as `constructor`, are ordinary names', () => {
    const objects = JSON.parse('{"constructor":{"toString":"x","hasOwnProperty":1,"id":{"constructor":2}}}');
    expect(textsOf(admit(objects))).toEqual({
      constructor: '{"toString":"x","hasOwnProperty":1,"id":{"constructor":2}}',
    });
  });

  it('[VALUE-2] numbers that JavaScript cannot hold exactly are refused', () => {
    const max = Number.MAX_SAFE_INTEGER;
    expect(
      admit({ 1: { n: max, m: -max } })
        .get('1')
        ?.get('n'),
    ).toBe(String(max));
    for (const bad of [max + 1, -max - 1, 1e300, Number.NaN, Number.POSITIVE_INFINITY]) {
      expect(refusal(() => admit({ 1: { n: bad } }))).toEqual({ code: 'unsafe_number', pointers: ['/objects/1/n'] });
      expect(refusal(() => admit({ 1: { n: [{ deep: bad }] } })).code).toBe('unsafe_number');
    }
  });

  it('[VALUE-2] decimals are kept as the nearest double', () => {
    const kept = (text: string) =>
      admit(JSON.parse(`{"1":{"n":${text}}}`))
        .get('1')
        ?.get('n');
    expect(kept('0.1')).toBe('0.1');
    expect(kept('0.10000000000000001')).toBe('0.1');
    expect(kept('0.1000000000000000055511151231257827')).toBe('0.1');
    expect(kept('123456789.123456789123')).toBe('123456789.12345679');
    expect(kept('1e-400')).toBe('0');
    expect(kept('5e-324')).toBe('5e-324');
    expect(refusal(() => kept('1e400')).code).toBe('unsafe_number');
  });

  it('[VALUE-3] the key "__proto__" is refused at every depth', () => {
    for (const text of [
      '{"__proto__":{"a":1}}',
      '{"1":{"__proto__":1}}',
      '{"1":{"a":{"__proto__":1}}}',
      '{"1":{"a":[{"__proto__":1}]}}',
    ]) {
      expect(refusal(() => admit(JSON.parse(text))).code).toBe('forbidden_key');
    }
    expect(refusal(() => admitIds(['__proto__'], limits, 'objects')).code).toBe('forbidden_key');
  });

  it('[VALUE-4] values may be nested to the limit and no deeper', () => {
    expect(
      admit({ 1: { a: [[[1]]] } })
        .get('1')
        ?.get('a'),
    ).toBe('[[[1]]]');
    expect(refusal(() => admit({ 1: { a: [[[[1]]]] } })).code).toBe('too_deep');
    expect(refusal(() => admit({ 1: { a: { b: { c: { d: { e: 1 } } } } } })).code).toBe('too_deep');
    let bottomless: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) bottomless = [bottomless];
    expect(refusal(() => admit({ 1: { a: bottomless } })).code).toBe('too_deep');
  });

  it('[VALUE-5] text must be well-formed Unicode', () => {
    expect(refusal(() => admit({ 1: { a: '\ud800' } })).code).toBe('invalid_value');
    expect(refusal(() => admit({ 1: { a: { '\udc00': 1 } } })).code).toBe('invalid_value');
  });

  it('[VALUE-7] a value holds at most VALUE_MEMBERS_MAX items and members, at all depths together', () => {
    const admitted = (value: unknown) => admitObjects({ 1: { a: value } }, wide, 'objects');
    const list = (length: number) => Array.from({ length }, () => 7);
    const object = (length: number) => Object.fromEntries(list(length).map((item, index) => [`k${index}`, item]));
    expect(admitted(list(VALUE_MEMBERS_MAX)).size).toBe(1);
    expect(refusal(() => admitted(list(VALUE_MEMBERS_MAX + 1)))).toEqual({
      code: 'limit_exceeded',
      pointers: ['/objects/1/a'],
    });
    expect(admitted([list(VALUE_MEMBERS_MAX / 2 - 2), object(VALUE_MEMBERS_MAX / 2)]).size).toBe(1);
    expect(refusal(() => admitted([list(VALUE_MEMBERS_MAX / 2 - 1), object(VALUE_MEMBERS_MAX / 2)])).code).toBe(
      'limit_exceeded',
    );
  });

  it('[VALUE-6] values that are not JSON are refused', () => {
    for (const bad of [undefined, () => 1, Symbol('x'), 1n, [undefined], new Array(2)]) {
      expect(refusal(() => admit({ 1: { a: bad } })).code).toBe('invalid_request');
    }
  });

  it('[ADMIT-1] objects must be a hash of hashes, and the error has a pointer to the first that is not', () => {
    for (const bad of [null, undefined, 1, 'x', [], true]) {
      expect(refusal(() => admit(bad))).toEqual({ code: 'invalid_request', pointers: ['/objects'] });
      expect(refusal(() => admit({ 'a/b~c': bad }))).toEqual({
        code: 'invalid_request',
        pointers: ['/objects/a~1b~0c'],
      });
    }
    expect(refusal(() => admit({ 1: { a: 1 }, '': { a: 1 } }))).toEqual({
      code: 'invalid_name',
      pointers: ['/objects/'],
    });
    expect(refusal(() => admit({ 1: { '*': 1 } }))).toEqual({ code: 'invalid_name', pointers: ['/objects/1/*'] });
  });

  it('[LIMIT-1] objects, attributes and text at their limits are accepted, and one more of each is refused', () => {
    expect(admit({ 1: {}, 2: {}, 3: {} }).size).toBe(3);
    expect(refusal(() => admit({ 1: {}, 2: {}, 3: {}, 4: {} })).code).toBe('limit_exceeded');
    expect(
      admit({ 1: { a: 1, b: 1, c: 1 } })
        .get('1')
        ?.keys().length,
    ).toBe(3);
    expect(refusal(() => admit({ 1: { a: 1, b: 1, c: 1, d: 1 } })).code).toBe('limit_exceeded');
    // One unit for the id, one for the name, two for the quotes: 56 fill it up to 60.
    expect(admit({ 1: { a: 'x'.repeat(56) } }).size).toBe(1);
    expect(refusal(() => admit({ 1: { a: 'x'.repeat(57) } })).code).toBe('body_too_large');
    // The same for objects that are written in one go, because their names are known.
    expect(admit({ 1: { a: 1 }, 2: { a: 'x'.repeat(53) } }).size).toBe(2);
    expect(refusal(() => admit({ 1: { a: 1 }, 2: { a: 'x'.repeat(54) } })).code).toBe('body_too_large');
    expect(admitIds(['1', '2', '3'], limits, 'objects').size).toBe(3);
    expect(refusal(() => admitIds(['1', '2', '3', '4'], limits, 'objects')).code).toBe('limit_exceeded');
    expect(refusal(() => admitIds(['x'.repeat(61)], limits, 'objects')).code).toBe('body_too_large');
  });

  it('[ADMIT-6] an object is checked and written in the same way whether its names are cached or not', () => {
    for (const value of [...GOOD_VALUES, ...BAD_VALUES]) {
      const first = outcomeOf({ 2: { a: value, b: value } });
      const later = outcomeOf({ 1: { a: 0, b: 0 }, 2: { a: value, b: value } });
      expect(later).toEqual(first);
      expect(typeof first === 'string').toBe(BAD_VALUES.includes(value));
    }
  });

  it('[ADMIT-6] reading an object whole and attribute by attribute gives the same values', () => {
    const later = admitObjects({ 1: { a: 0, b: 0 }, 2: { b: [1, { x: null }], a: 'é"' } }, wide, 'objects').get('2');
    if (later === undefined) throw new Error('it was not admitted');
    expect(later.text).toBe('{"b":[1,{"x":null}],"a":"é\\""}');
    expect([...later]).toEqual([
      ['b', '[1,{"x":null}]'],
      ['a', '"é\\""'],
    ]);
    expect([later.keys().length, later.has('a'), later.has('toString'), later.get('b'), later.get('c')]).toEqual([
      2,
      true,
      false,
      '[1,{"x":null}]',
      undefined,
    ]);
    expect(later.keys()).toEqual(['b', 'a']);
  });

  it('[ADMIT-7] an object that its owner changes after admission keeps its admitted attributes', () => {
    const mine: Record<string, unknown> = { a: 'é', b: ['é'] };
    const objects = { 1: { a: 0, b: 0 }, 2: mine };
    const admitted = admitObjects(objects, wide, 'objects').get('2');
    if (admitted === undefined) throw new Error('it was not admitted');
    (mine.b as unknown[]).push('more');
    mine.a = 'other';
    mine.c = 1;
    expect(Object.fromEntries(admitted)).toEqual({ a: '"é"', b: '["é"]' });
    expect([admitted.keys(), admitted.has('c'), admitted.text]).toEqual([['a', 'b'], false, '{"a":"é","b":["é"]}']);
  });

  it('[ADMIT-2] ids must be a list of names, and a repeated id counts once', () => {
    expect(admitIds(['b', 'a', 'b'], limits, 'objects')).toEqual(new Set(['b', 'a']));
    for (const bad of [null, {}, 'x', 1])
      expect(refusal(() => admitIds(bad, limits, 'objects')).code).toBe('invalid_request');
    expect(refusal(() => admitIds([1], limits, 'objects'))).toEqual({
      code: 'invalid_request',
      pointers: ['/objects/0'],
    });
    expect(refusal(() => admitIds(['a', ''], limits, 'objects'))).toEqual({
      code: 'invalid_name',
      pointers: ['/objects/1'],
    });
  });
});
