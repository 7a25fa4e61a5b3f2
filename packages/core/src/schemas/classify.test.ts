import type { SourceSchema, Step, ValueSchema } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { type ChangeKind, classify } from './classify.ts';

const one = (schema: ValueSchema): SourceSchema => ({ properties: { a: schema } });

/** What an attribute was and is. */
const WIDER: readonly (readonly [ValueSchema, ValueSchema])[] = [
  [{ type: 'string' }, { type: 'string', description: 'A name', title: 'Name', deprecated: true }],
  [{ type: 'string' }, { type: ['string', 'null'] }],
  [{ type: 'integer' }, { type: 'number' }],
  [{ type: 'string' }, {}],
  [{ enum: ['x'] }, { enum: ['x', 'y'] }],
  [{ enum: ['x'] }, { type: 'string' }],
  [{ const: 3 }, { type: 'integer', minimum: 3 }],
  [{ type: 'string', format: 'date' }, { type: 'string' }],
  [
    { type: 'number', minimum: 1 },
    { type: 'number', minimum: 0 },
  ],
  [{ type: 'string', maxLength: 5 }, { type: 'string' }],
  [
    { type: 'number', minimum: 1, maximum: 9 },
    { type: 'number', maximum: 9, minimum: 1, title: 'The same' },
  ],
  [
    { type: 'array', items: { type: 'integer' } },
    { type: 'array', items: { type: 'number' } },
  ],
  [
    { type: 'object', properties: { x: {} }, required: ['x'] },
    { type: 'object', properties: { x: {}, y: {} } },
  ],
  [{ type: 'object', properties: { x: {} } }, { type: 'object' }],
];

const NARROWER: readonly (readonly [ValueSchema, ValueSchema, string])[] = [
  [{ type: 'string' }, { type: 'number' }, '"a" cannot be of type string any more'],
  [{ type: 'number' }, { type: 'integer' }, '"a" cannot be of type number any more'],
  [{ type: ['string', 'null'] }, { type: 'string' }, '"a" cannot be of type null any more'],
  [{ enum: ['x', 'y'] }, { enum: ['x'] }, '"a" cannot be "y" in the new schema'],
  [{ enum: ['x'] }, { type: 'number' }, '"a" cannot be "x" in the new schema'],
  [{ type: 'string' }, { enum: ['x'] }, '"a" allows only some values now'],
  [{ type: 'string' }, { type: 'string', format: 'date' }, '"a" must have the format date now'],
  [
    { type: 'string', format: 'date' },
    { type: 'string', format: 'date-time' },
    '"a" must have the format date-time now',
  ],
  [{ type: 'number' }, { type: 'number', minimum: 0 }, '"a" has another minimum now, which is stricter'],
  [
    { type: 'string', maxLength: 5 },
    { type: 'string', maxLength: 4 },
    '"a" has another maxLength now, which is stricter',
  ],
  [
    { type: 'array' },
    { type: 'array', items: { type: 'string' } },
    '"a" has items that cannot be of type number or boolean or null or object or array any more',
  ],
  [
    { type: 'object', properties: { x: {} } },
    { type: 'object', properties: { x: {} }, required: ['x'] },
    '"a" has members of which "x" is required now',
  ],
  [
    { type: 'object', properties: { x: {} } },
    { type: 'object', properties: { y: {} } },
    '"a" has members of which "x" is missing: keep it as deprecated, or name a step that renames or removes it',
  ],
  [
    { type: 'object' },
    { type: 'object', additionalProperties: false },
    '"a" has members of which attributes that the schema does not name are refused now',
  ],
];

const TEXT: ValueSchema = { type: 'string' };
/** Steps with a schema before and one after that they lead to. */
const TRANSLATED: readonly (readonly [string, readonly Step[], SourceSchema, SourceSchema])[] = [
  [
    'rename',
    [{ step: 'rename', attribute: 'a', to: 'b' }],
    { properties: { a: TEXT }, required: ['a'] },
    { properties: { b: TEXT }, required: ['b'] },
  ],
  [
    'add',
    [{ step: 'add', attribute: 'b', value: 0 }],
    { properties: { a: TEXT } },
    { properties: { a: TEXT, b: { type: 'number' } }, required: ['b'] },
  ],
  ['remove', [{ step: 'remove', attribute: 'a' }], { properties: { a: TEXT }, required: ['a'] }, { properties: {} }],
  [
    'map',
    [
      {
        step: 'map',
        attribute: 'a',
        values: [
          ['open', 'todo'],
          ['done', 'done'],
        ],
      },
    ],
    one({ enum: ['open', 'done'] }),
    one({ enum: ['todo', 'done'] }),
  ],
  [
    'map with a value for the others',
    [{ step: 'map', attribute: 'a', values: [['open', 1]], otherwise: { value: 0 } }],
    one(TEXT),
    one({ enum: [0, 1] }),
  ],
  [
    'convert to a text',
    [{ step: 'convert', attribute: 'a', to: 'text' }],
    one({ type: ['number', 'null'] }),
    one({ type: ['string', 'null'] }),
  ],
  ['convert to a number', [{ step: 'convert', attribute: 'a', to: 'number' }], one(TEXT), one({ type: 'number' })],
  [
    'convert to a list',
    [{ step: 'convert', attribute: 'a', to: 'list' }],
    one(TEXT),
    one({ type: 'array', items: TEXT }),
  ],
  ['convert to one', [{ step: 'convert', attribute: 'a', to: 'one' }], one({ type: 'array', items: TEXT }), one(TEXT)],
  [
    'nest',
    [{ step: 'nest', into: 'address', members: { street: 'street', town: 'city' } }],
    { properties: { street: TEXT, town: TEXT }, required: ['street'] },
    {
      properties: { address: { type: 'object', properties: { street: TEXT, city: TEXT }, required: ['street'] } },
      required: ['address'],
    },
  ],
  [
    'unnest',
    [{ step: 'unnest', attribute: 'size', members: { w: 'width' } }],
    {
      properties: { size: { type: 'object', properties: { w: { type: 'number' } }, required: ['w'] } },
      required: ['size'],
    },
    { properties: { width: { type: 'number' } }, required: ['width'] },
  ],
  [
    'split',
    [{ step: 'split', attribute: 'person', into: ['first', 'last'], separator: ' ' }],
    { properties: { person: TEXT }, required: ['person'] },
    { properties: { first: TEXT, last: TEXT }, required: ['first'] },
  ],
  [
    'join',
    [{ step: 'join', attributes: ['first', 'last'], into: 'person', separator: ' ' }],
    { properties: { first: TEXT, last: TEXT }, required: ['first'] },
    { properties: { person: TEXT }, required: ['person'] },
  ],
];

const kindOf = (old: SourceSchema, now: SourceSchema, steps: readonly Step[] = []): ChangeKind =>
  classify(old, now, steps).kind;

describe('the comparison of two versions of a schema', () => {
  it('[SCHEMA-7] the same schema in another order is equal', () => {
    expect(
      kindOf(
        { properties: { a: { type: 'string', title: 'A' }, b: {} } },
        { properties: { b: {}, a: { title: 'A', type: 'string' } } },
      ),
    ).toBe('equal');
  });

  it.each(WIDER)('[SCHEMA-7] an attribute that was %j and is %j is additive', (old, now) => {
    expect(classify(one(old), one(now), [])).toEqual({ kind: 'additive', reasons: [] });
  });

  it('[SCHEMA-7] an attribute that is new and optional is additive, and so is one that is not required any more', () => {
    expect(kindOf({ properties: {} }, one(TEXT))).toBe('additive');
    expect(kindOf({ ...one(TEXT), required: ['a'] }, one(TEXT))).toBe('additive');
    expect(kindOf({ properties: {}, additionalProperties: false }, { properties: {} })).toBe('additive');
  });

  it.each(NARROWER)(
    '[SCHEMA-7] an attribute that was %j and is %j is breaking, and the reason says why',
    (old, now, reason) => {
      expect(classify(one(old), one(now), [])).toEqual({ kind: 'breaking', reasons: [reason] });
    },
  );

  it('[SCHEMA-7] an attribute that is missing, and one that is required without a step, are breaking', () => {
    const { kind, reasons } = classify(
      one(TEXT),
      { properties: { b: TEXT }, required: ['b'], additionalProperties: false },
      [],
    );
    expect(kind).toBe('breaking');
    expect(reasons).toEqual([
      '"a" is missing: keep it as deprecated, or name a step that renames or removes it',
      '"b" is new and required: name a step that adds it',
      'attributes that the schema does not name are refused now',
    ]);
  });

  it.each(TRANSLATED)(
    '[SCHEMA-8] a change that the step "%s" leads to is translatable, and breaking without it',
    (_name, steps, old, now) => {
      expect(classify(old, now, steps)).toEqual({ kind: 'translatable', reasons: [] });
      expect(kindOf(old, now)).toBe('breaking');
    },
  );

  it.each<[Step, readonly string[]]>([
    [{ step: 'rename', attribute: 'a', to: 'b' }, ['b']],
    [{ step: 'add', attribute: 'b', value: 'x' }, ['b']],
    [{ step: 'nest', into: 'b', members: { a: 'x' } }, ['b']],
    [{ step: 'unnest', attribute: 'a', members: { x: 'b', y: 'c' } }, ['b', 'c']],
    [{ step: 'split', attribute: 'a', into: ['b', 'x'], separator: ' ' }, ['b']],
    [{ step: 'join', attributes: ['a', 'c'], into: 'b', separator: ' ' }, ['b']],
  ])('[SCHEMA-60] a step %j that brings an attribute which older apps have is breaking', (step, names) => {
    const old: SourceSchema = { properties: { a: {}, b: {}, c: {} } };
    const { kind, reasons } = classify(old, { properties: { a: {}, b: {}, c: {}, x: {} } }, [step]);
    expect(kind).toBe('breaking');
    for (const name of names) {
      expect(reasons).toContain(`"${name}" is brought by a step, and older apps have it: choose another name`);
    }
  });

  it('[SCHEMA-60] a name that one version takes away may be brought by the steps of the next', () => {
    const steps: readonly Step[] = [{ step: 'add', attribute: 'b', value: 0 }];
    expect(kindOf(one(TEXT), { properties: { a: TEXT, b: { type: 'number' } } }, steps)).toBe('translatable');
  });

  it('[SCHEMA-61] a value that a map does not name is breaking, because older apps cannot write it any more', () => {
    const map = { step: 'map', attribute: 'a', values: [['open', 'todo']] } as const;
    const classified = (step: Step) =>
      classify(one({ enum: ['open', 'done'] }), one({ enum: ['todo', 'done'] }), [step]);
    expect(classified(map)).toEqual({
      kind: 'breaking',
      reasons: ['"a" cannot be "done" any more, because the map does not name it'],
    });
    expect(classified({ ...map, otherwise: 'refuse' }).kind).toBe('translatable');
    expect(classified({ ...map, otherwise: 'nearest' }).kind).toBe('translatable');
  });

  it('[SCHEMA-61] a map of an attribute that a step before has renamed must name its values as well', () => {
    const steps: readonly Step[] = [
      { step: 'rename', attribute: 'a', to: 'b' },
      { step: 'map', attribute: 'b', values: [['open', 'todo']] },
    ];
    const now: SourceSchema = { properties: { b: { enum: ['todo', 'done'] } } };
    expect(classify(one({ enum: ['open', 'done'] }), now, steps).reasons).toEqual([
      '"b" cannot be "done" any more, because the map does not name it',
    ]);
  });

  it.each<[ValueSchema, 'text' | 'number' | 'list' | 'one', ValueSchema, string]>([
    [{ type: 'boolean' }, 'text', TEXT, 'boolean, which cannot become a text'],
    [{ enum: [1, true, 'x'] }, 'text', TEXT, 'boolean or string, which cannot become a text'],
    [{ type: ['string', 'number'] }, 'number', { type: 'number' }, 'number, which cannot become a number'],
    [{ type: ['string', 'array'] }, 'list', { type: 'array' }, 'array, which cannot become a list'],
    [TEXT, 'one', {}, 'string, which cannot become one value'],
    [{ type: 'array', items: { type: 'array' } }, 'one', {}, 'array of array, which cannot become one value'],
  ])('[SCHEMA-64] values of %j cannot all be converted to %s, which is breaking', (old, to, now, reason) => {
    const step: Step = { step: 'convert', attribute: 'a', to };
    const { reasons } = classify(one(old), one(now), [step]);
    expect(reasons).toContain(`"a" may be ${reason}`);
  });

  it('[SCHEMA-64] a rule in the step says what becomes of values that cannot be converted, unless they could not be told from converted ones', () => {
    const reasonsOf = (old: ValueSchema, now: ValueSchema, to: 'text' | 'list') =>
      classify(one(old), one(now), [{ step: 'convert', attribute: 'a', to, otherwise: 'drop' }]).reasons;
    expect(reasonsOf({ type: ['number', 'boolean'] }, TEXT, 'text')).toEqual([]);
    expect(reasonsOf({ type: ['string', 'array'] }, { type: 'array' }, 'list')).toEqual([
      '"a" may be array, which cannot become a list',
    ]);
    expect(reasonsOf({ format: 'file' }, { type: 'array' }, 'list')).toEqual([]);
    expect(reasonsOf({}, { type: 'array' }, 'list')).toEqual([]);
  });

  it('[SCHEMA-8] an attribute that a step does not always bring cannot be required', () => {
    const split: Step = { step: 'split', attribute: 'a', into: ['b', 'c'], separator: ' ' };
    const parts: SourceSchema = { properties: { b: TEXT, c: TEXT }, required: ['b', 'c'] };
    expect(classify({ ...one(TEXT), required: ['a'] }, parts, [split]).reasons).toEqual(['"c" is required now']);
    const unnest: Step = { step: 'unnest', attribute: 'a', members: { x: 'b' } };
    const nested = one({ type: 'object', properties: { x: TEXT }, required: ['x'] });
    const flat: SourceSchema = { properties: { b: TEXT }, required: ['b'] };
    expect(classify(nested, flat, [unnest]).reasons).toEqual(['"b" is required now']);
  });

  it('[SCHEMA-7] a reason names ten of the values that are not allowed any more, and how many more there are', () => {
    const many = Array.from({ length: 12 }, (_, index) => index);
    expect(classify(one({ enum: [...many, 'x'] }), one({ enum: ['x'] }), []).reasons).toEqual([
      '"a" cannot be 0 or 1 or 2 or 3 or 4 or 5 or 6 or 7 or 8 or 9 and 2 more in the new schema',
    ]);
  });

  it('[SCHEMA-8] a breaking change names first what its steps take and the schema before them does not have', () => {
    const now: SourceSchema = { properties: { b: TEXT } };
    expect(classify(one(TEXT), now, [{ step: 'rename', attribute: 'x', to: 'b' }]).reasons).toEqual([
      'a step takes "x", which the schema before it does not name: see how it is written',
      '"a" is missing: keep it as deprecated, or name a step that renames or removes it',
    ]);
    const map: Step = { step: 'map', attribute: 'x', values: [['open', 'todo']] };
    expect(classify(one(TEXT), one({ type: 'number' }), [map]).reasons[0]).toBe(
      'a step changes "x", which the schema before it does not name: see how it is written',
    );
    const chain: readonly Step[] = [
      { step: 'rename', attribute: 'a', to: 'c' },
      { step: 'convert', attribute: 'c', to: 'list' },
    ];
    expect(classify(one(TEXT), now, chain).reasons).toEqual([
      '"c" is missing: keep it as deprecated, or name a step that renames or removes it',
    ]);
  });

  it('[SCHEMA-8] steps may change attributes that the old schema allows without naming them', () => {
    const rename: Step = { step: 'rename', attribute: 'x', to: 'b' };
    expect(classify(one(TEXT), { properties: { a: TEXT, b: TEXT } }, [rename]).kind).toBe('translatable');
  });

  it('[SCHEMA-62] null in a map and as the value for the others counts as any other value', () => {
    const map = { step: 'map', attribute: 'a', values: [['none', null]] } as const;
    expect(kindOf(one({ enum: ['none'] }), one({ enum: [null] }), [map])).toBe('translatable');
    expect(kindOf(one({ enum: ['none'] }), one({ enum: ['none'] }), [map])).toBe('breaking');
    const others: Step = { step: 'map', attribute: 'a', values: [['x', 'y']], otherwise: { value: null } };
    expect(kindOf(one({ enum: ['x', 'z'] }), one({ enum: ['y', null] }), [others])).toBe('translatable');
    expect(kindOf(one({ enum: ['x', 'z'] }), one({ enum: ['y', 'z'] }), [others])).toBe('breaking');
  });

  it('[SCHEMA-62] what was null before it was split, joined or converted is null afterwards', () => {
    const nullable: ValueSchema = { type: ['string', 'null'] };
    const split: Step = { step: 'split', attribute: 'a', into: ['b', 'c'], separator: ' ' };
    expect(kindOf(one(nullable), { properties: { b: TEXT, c: TEXT } }, [split])).toBe('breaking');
    expect(kindOf(one(nullable), { properties: { b: nullable, c: TEXT } }, [split])).toBe('translatable');
    const join: Step = { step: 'join', attributes: ['a', 'b'], into: 'c', separator: ' ' };
    const both: SourceSchema = { properties: { a: nullable, b: TEXT } };
    expect(kindOf(both, { properties: { c: TEXT } }, [join])).toBe('breaking');
    expect(kindOf(both, { properties: { c: nullable } }, [join])).toBe('translatable');
    const convert: Step = { step: 'convert', attribute: 'a', to: 'number' };
    expect(kindOf(one({ enum: ['1', null] }), one({ type: 'number' }), [convert])).toBe('breaking');
    expect(kindOf(one({ enum: ['1', '2'] }), one({ type: 'number' }), [convert])).toBe('translatable');
  });

  it('[SCHEMA-8] steps that lead to another schema than the new one are breaking', () => {
    const steps: readonly Step[] = [{ step: 'rename', attribute: 'a', to: 'c' }];
    expect(classify(one(TEXT), { properties: { b: TEXT } }, steps).reasons).toEqual([
      '"c" is missing: keep it as deprecated, or name a step that renames or removes it',
    ]);
    const map: readonly Step[] = [
      {
        step: 'map',
        attribute: 'a',
        values: [
          ['open', 'todo'],
          ['late', 'late'],
        ],
      },
    ];
    expect(classify(one({ enum: ['open', 'late'] }), one({ enum: ['todo'] }), map).reasons).toEqual([
      '"a" cannot be "late" in the new schema',
    ]);
    const add: readonly Step[] = [{ step: 'add', attribute: 'b', value: 'x' }];
    expect(classify({ properties: {} }, { properties: { b: { type: 'number' } } }, add).reasons).toEqual([
      '"b" cannot be "x" in the new schema',
    ]);
  });
});
