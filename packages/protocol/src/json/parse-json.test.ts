import { runInThisContext } from 'node:vm';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCarefully, parseJson, parseMembers } from './parse-json.ts';

/** Names that have been taken for each other, and those that must not become another one on the way. */
const names = fc.oneof(
  fc.constantFrom('a', 'b', '', '7', '"', '\\', '\n', '\r', '/', 'é', '😀', 'a\\', 'a\n', 'a"', 'a\\n', '__proto__'),
  fc.constantFrom('\ud800\ud8000', '\ud800', '\\u0061', 'a"b', '\u0000', '\u2028'),
  fc.string({ unit: 'binary', maxLength: 4 }),
);

const blanks = fc.constantFrom('', '', ' ', '\n', '\t \r');

/** A name as anybody may write it: with more escapes than it needs. */
const written = fc
  .tuple(names, fc.constantFrom('plain', 'escaped'))
  .map(([name, way]) =>
    way === 'plain'
      ? JSON.stringify(name)
      : `"${Array.from({ length: name.length }, (_, at) => unit(name, at)).join('')}"`,
  );

function unit(text: string, at: number): string {
  return `\\u${text.charCodeAt(at).toString(16).padStart(4, '0')}`;
}

const texts = fc.letrec<{ value: string }>((tie) => {
  const scalar = fc.oneof(names, fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constantFrom(null, true));
  const list = fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`);
  const member = fc
    .tuple(blanks, written, blanks, tie('value'))
    .map(([a, name, b, value]) => `${a}${name}${b}:${value}`);
  const object = fc.array(member, { maxLength: 5 }).map((members) => `{${members.join(',')}}`);
  const one = fc.oneof(
    { depthSize: 'medium' },
    scalar.map((value) => JSON.stringify(value)),
    list,
    object,
  );
  return { value: fc.tuple(blanks, one, blanks).map((parts) => parts.join('')) };
}).value;

/** What the text means to the reader of programs, which is another one. There, this one name would mean something else. */
function meaningOf(text: string): unknown {
  return runInThisContext(`(${text})`);
}

function withoutProto(text: string): boolean {
  return !text.includes('__proto__') && !text.includes(unit('_', 0));
}

/** The order of names and `__proto__` told apart. */
function shown(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shown);
  return typeof value === 'object' && value !== null
    ? Object.entries(value).map(([name, member]) => [name, shown(member)])
    : value;
}

describe.each([
  ['the reader of this version of Node', parseJson],
  ['the careful reader', parseCarefully],
])('%s', (_name, parse) => {
  it('[VALUE-8] reads a name as it is written, whatever was read before', () => {
    // As anybody else in the process may have read them: from then on, the others are taken for these.
    for (const name of ['\\', 'x\\', 'x\\n', 'x\\ny']) JSON.parse(`{"b":1,${JSON.stringify(name)}:2}`);
    for (const name of ['\n', '"', '/', '\\', 'a', 'x\n', 'x"', 'x\ny', 'x\\', '\u0000', '\ud800']) {
      for (const quoted of [JSON.stringify(name), `"${Array.from(name, (_, at) => unit(name, at)).join('')}"`]) {
        expect(shown(parse(`{"b":1, ${quoted} :2}`))).toEqual([
          ['b', 1],
          [name, 2],
        ]);
      }
    }
    expect(shown(parse('{"a":1,"\\u0061":2,"a":3,"\\n":4,"\\u000a":5}'))).toEqual([
      ['a', 3],
      ['\n', 5],
    ]);
    expect(shown(parse('{"\\n":0,"\\u005f_proto__":{"\\n":1}}'))).toEqual([
      ['\n', 0],
      ['__proto__', [['\n', 1]]],
    ]);
  });

  it('[VALUE-8] reads every text as it is meant', () => {
    fc.assert(
      fc.property(texts.filter(withoutProto), (text) => {
        expect(shown(parse(text))).toEqual(shown(meaningOf(text)));
      }),
      { numRuns: 2_000 },
    );
  });

  it('[VALUE-8] refuses what is not JSON, and nothing else', () => {
    const damaged = fc
      .tuple(
        texts,
        fc.nat(),
        fc.nat({ max: 2 }),
        fc.constantFrom('', '"', '\\', '\\u00', ':', ',', '{', '}', '\n', 'a'),
      )
      .map(
        ([text, at, cut, put]) =>
          text.slice(0, at % (text.length + 1)) + put + text.slice((at % (text.length + 1)) + cut),
      );
    fc.assert(
      fc.property(damaged, (text) => {
        expect(isRefused(() => parse(text))).toBe(isRefused(() => JSON.parse(text)));
      }),
      { numRuns: 3_000 },
    );
  });

  it('[VALUE-8] reads what is nested as deep as it likes', () => {
    const deep = 100_000;
    let value = parse(`${'['.repeat(deep)}{"a":1,"\\n":2}${']'.repeat(deep)}`);
    while (Array.isArray(value)) [value] = value;
    expect(shown(value)).toEqual([
      ['a', 1],
      ['\n', 2],
    ]);
  });
});

it('text that is no JSON object has no members', () => {
  expect(['{"a":1}', '["b"]', 'null', '"a"', '{"a"'].map(parseMembers)).toEqual([{ a: 1 }, ['b'], {}, {}, {}]);
});

function isRefused(work: () => unknown): boolean {
  try {
    work();
    return false;
  } catch (error) {
    if (error instanceof SyntaxError) return true;
    throw error;
  }
}
