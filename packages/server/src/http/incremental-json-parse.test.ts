import { parseJson, Refusal } from '@tidemark/protocol';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseIncrementally } from './incremental-json-parse.ts';

const BOUNDS = { depthMax: 40, objectMembersMax: 1_000, containersMax: 50_000, onName: () => undefined };

interface Parsed {
  readonly value: unknown;
  readonly turns: number;
}

function parse(text: string, sliceBytes: number, bounds: Partial<typeof BOUNDS> = {}): Parsed {
  const parsing = parseIncrementally(Buffer.from(text), { ...BOUNDS, ...bounds, sliceBytes });
  for (let turns = 0; ; turns++) {
    const { done, value } = parsing.next();
    if (done === true) return { value, turns };
  }
}

/** The result of parsing: the value, with the order of names and `__proto__` made visible, or a refusal. */
function outcome(work: () => unknown): unknown {
  try {
    const value = work();
    return { value, text: JSON.stringify(value) };
  } catch (error) {
    if (error instanceof SyntaxError) return 'invalid_json';
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const names = fc.oneof(
  fc.constantFrom('a', 'b', '', '0', '7', '10', '__proto__', 'constructor', '"', '\\', 'é', '😀', 'a,b', '}]'),
  fc.string({ maxLength: 5 }),
);

const blanks = fc.constantFrom('', '', '', ' ', '\n', '\t \r');

/** JSON text with white space and duplicate names, which `JSON.stringify` cannot produce. */
const jsonText = fc.letrec<{ value: string }>((tie) => {
  const around = (text: fc.Arbitrary<string>) => fc.tuple(blanks, text, blanks).map((parts) => parts.join(''));
  const scalar = fc.oneof(fc.jsonValue({ maxDepth: 0 }), names, fc.double({ noNaN: true, noDefaultInfinity: true }));
  const list = fc.oneof(
    blanks.map((blank) => `[${blank}]`),
    fc.array(tie('value'), { minLength: 1, maxLength: 6 }).map((items) => `[${items.join(',')}]`),
  );
  const member = fc
    .tuple(around(names.map((name) => JSON.stringify(name))), tie('value'))
    .map((pair) => pair.join(':'));
  const object = fc.oneof(
    blanks.map((blank) => `{${blank}}`),
    fc.array(member, { minLength: 1, maxLength: 6 }).map((members) => `{${members.join(',')}}`),
  );
  const written = scalar.map((value) => JSON.stringify(value));
  return { value: around(fc.oneof({ depthSize: 'medium', withCrossShrink: true }, written, list, object)) };
}).value;

/** A text with something removed, inserted or doubled. */
const damagedText = fc
  .tuple(
    jsonText,
    fc.array(
      fc.record({
        at: fc.double({ min: 0, max: 1, noNaN: true }),
        cut: fc.nat({ max: 2 }),
        put: fc.constantFrom(
          '',
          ',',
          ':',
          '[',
          ']',
          '{',
          '}',
          '"',
          '\\',
          '\\u00',
          '1',
          '-',
          'null',
          '\u000b',
          '\ufeff',
          '[]',
          '"a":',
        ),
      }),
      { minLength: 1, maxLength: 3 },
    ),
  )
  .map(([text, damages]) =>
    damages.reduce((whole, { at, cut, put }) => {
      const place = Math.floor(at * whole.length);
      return whole.slice(0, place) + put + whole.slice(place + cut);
    }, text),
  )
  // A cut may have split a surrogate pair; bytes are well-formed when they are parsed.
  .map((text) => text.toWellFormed());

describe('incremental parsing', () => {
  const stretches = fc.integer({ min: 1, max: 40 });

  it('[HARD-67] incremental parsing gives the same value as parsing the whole text, however short the slices', () => {
    fc.assert(
      fc.property(jsonText, stretches, (text, sliceBytes) => {
        expect(outcome(() => parse(text, sliceBytes).value)).toEqual(outcome(() => parseJson(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('[HARD-67] incremental parsing refuses what parsing the whole text refuses, and nothing else', () => {
    fc.assert(
      fc.property(damagedText, stretches, (text, sliceBytes) => {
        expect(outcome(() => parse(text, sliceBytes).value)).toEqual(outcome(() => parseJson(text)));
      }),
      { numRuns: 5_000 },
    );
  });

  it.each([
    '[1,,2]',
    '[,1]',
    '[1,]',
    '[1 2]',
    '[1}',
    '{1:2}',
    '{"a":1,}',
    '{,"a":1}',
    '{"a"}',
    '{"a":}',
    '{:1}',
    '[1][2]',
    '[1]2',
    '2[1]',
    '[[1]',
    '[1]]',
    '[[1] 2]',
    '[2 [1]]',
    '{"a":1 "b":[1]}',
    '{"a" [1]}',
    '{[1]:2}',
    '{"a":[1]2}',
    '["a":[1]]',
    '[[1],]',
    '{"a":[1],}',
    '[[1],,2]',
    '["a]',
    '["\\"]',
    '[1',
    ']',
    '',
    ' ',
    '[[1]\u00a0]',
    '\ufeff[1]',
  ])('[HARD-67] incremental parsing refuses %s', (text) => {
    for (const sliceBytes of [1, 2, 3, 1_000]) {
      expect(outcome(() => parse(text, sliceBytes).value)).toBe('invalid_json');
    }
  });

  it('[HARD-67] the parser yields after every slice, whatever the text consists of', () => {
    const bytes = 20_000;
    const texts = {
      numbers: `[${'1,'.repeat(bytes / 2)}1]`,
      lists: `[${'[],'.repeat(bytes / 3)}[]]`,
      objects: `{${Array.from({ length: bytes / 20 }, (_, index) => `"object ${index}":{}`).join(',')}}`,
      blanks: `[${' '.repeat(bytes)}]`,
      // Each level waits for the next one; all of them end together.
      stairs: `${`["${'x'.repeat(480)}",`.repeat(39)}1${']'.repeat(39)}`,
    };
    for (const [what, text] of Object.entries(texts)) {
      const { value, turns } = parse(text, 500);
      expect(JSON.stringify(value)).toBe(JSON.stringify(JSON.parse(text)));
      expect([what, turns >= text.length / 1_000 - 1]).toEqual([what, true]);
    }
  });

  it('[HARD-67] no piece is much longer than a slice, unless it is one long scalar', () => {
    const longest = (text: string) => {
      const parse_ = JSON.parse;
      let units = 0;
      JSON.parse = (piece: string) => {
        units = Math.max(units, piece.length);
        return parse_(piece);
      };
      try {
        parse(text, 500);
      } finally {
        JSON.parse = parse_;
      }
      return units;
    };
    const stairs = `${`["${'x'.repeat(480)}",`.repeat(39)}1${']'.repeat(39)}`;
    expect(longest(stairs)).toBeLessThan(2_000);
    expect(longest(`[${'[],'.repeat(10_000)}[]]`)).toBeLessThan(2_000);
    expect(longest(`{"a":{"b":[${'[[1]],'.repeat(10_000)}[]]}}`)).toBeLessThan(2_000);
  });

  it('[HARD-52] nesting is bounded before anything that deep is created', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
    expect(JSON.stringify(parse(nested(40), 10).value)).toBe(nested(40));
    expect(outcome(() => parse(nested(41), 10))).toBe('too_deep');
    expect(outcome(() => parse('['.repeat(41), 10))).toBe('too_deep');
  });

  it('[HARD-68] the members of one object are bounded, the items of a list are not', () => {
    const object = (count: number) => `{${Array.from({ length: count }, (_, index) => `"${index}":0`).join(',')}}`;
    expect(Object.keys(parse(object(1_000), 100).value as object)).toHaveLength(1_000);
    expect(outcome(() => parse(`[${object(1_001)}]`, 100))).toBe('limit_exceeded');
    expect(parse(`[${'0,'.repeat(1_500)}0]`, 100).value).toHaveLength(1_501);
  });

  it('[HARD-71] lists and objects are bounded at all depths together, scalars are not', () => {
    const bounds = { containersMax: 6 };
    expect(parse('{"a":[[],{}],"b":{"c":[1,2,3,"[{"]}}', 10, bounds).value).toEqual({
      a: [[], {}],
      b: { c: [1, 2, 3, '[{'] },
    });
    for (const text of [
      '{"a":[[],{}],"b":{"c":[1,2,3,{}]}}',
      '[[[[[[[]]]]]]]',
      '[{},{},{},{},{},{},{}]',
      '[[],[],[],[],[],[],',
    ]) {
      expect(outcome(() => parse(text, 10, bounds))).toBe('body_too_large');
    }
  });
});
