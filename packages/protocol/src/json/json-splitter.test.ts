import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { JsonSplitter, SplitError, type SplitterOptions } from './json-splitter.ts';

type Elements = readonly (readonly [string, string])[];

function split(chunks: readonly string[], options: Partial<SplitterOptions> = {}): Elements {
  const elements: (readonly [string, string])[] = [];
  const onElement = (key: string, value: string) => elements.push([key, value]);
  const splitter = new JsonSplitter({ opening: '{', elementUnitsMax: 100_000, ...options, onElement });
  for (const chunk of chunks) splitter.push(chunk);
  splitter.finish();
  return elements;
}

function problemOf(text: string, options?: Partial<SplitterOptions>): string {
  try {
    split([text], options);
  } catch (error) {
    if (error instanceof SplitError) return error.problem;
    throw error;
  }
  throw new Error('the text was split');
}

function cut(text: string, lengths: readonly number[]): readonly string[] {
  const chunks: string[] = [];
  let at = 0;
  for (let index = 0; at < text.length; index++) {
    const length = lengths[index % lengths.length] ?? 1;
    chunks.push(text.slice(at, at + length));
    at += length;
  }
  return chunks;
}

const HARD = fc.constantFrom('', 'a', '"', '\\', '\\"', '{', '}}', '[', ',":', 'é', '😀', '\n', ' ', 'x'.repeat(40));
const TEXT = fc.tuple(HARD, HARD, fc.nat(9)).map((parts) => parts.join(''));
const { value: VALUE } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    TEXT,
    fc.integer(),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(TEXT, tie('value'), { maxKeys: 3 }),
  ),
}));
const LENGTHS = fc
  .array(fc.constantFrom(0, 1, 2, 3, 7, 50), { minLength: 1 })
  .filter((lengths) => lengths.some(Boolean));
const SPACE = fc.constantFrom(0, 1, '\t\r\n');

describe('JsonSplitter', () => {
  it('[ANSWER-1] the members of an object are those that JSON.parse finds, however the text is cut into chunks', () => {
    fc.assert(
      fc.property(fc.dictionary(TEXT, VALUE, { maxKeys: 4 }), SPACE, LENGTHS, (object, space, lengths) => {
        const text = JSON.stringify(object, null, space);
        const members = split(cut(text, lengths)).map(([key, value]) => [key, JSON.parse(value) as unknown]);
        expect(members).toEqual(Object.entries(JSON.parse(text) as object));
      }),
      { numRuns: 1_000 },
    );
  });

  it('[ANSWER-1] the items of a list are those that JSON.parse finds, however the text is cut into chunks', () => {
    fc.assert(
      fc.property(fc.array(VALUE, { maxLength: 4 }), SPACE, LENGTHS, (list, space, lengths) => {
        const text = JSON.stringify(list, null, space);
        const items = split(cut(text, lengths), { opening: '[' }).map(([, value]) => JSON.parse(value) as unknown);
        expect(items).toEqual(JSON.parse(text));
      }),
      { numRuns: 1_000 },
    );
  });

  it('[ANSWER-2] a text that is not complete, not an object or followed by something is refused', () => {
    for (const text of ['[]', 'null', '7', '"x"', '<html>', '\ufeff{}', 'true']) expect(problemOf(text)).toBe('begin');
    for (const text of ['{1:{}}', '{"1"{}}', '{"1":{}"2":{}}', '{"1":{},}', '{,}', '{"1":{}]']) {
      expect(problemOf(text)).toBe('syntax');
    }
    for (const text of [
      '',
      '{',
      '{"1',
      '{"1":',
      '{"1":{',
      '{"1":{}',
      '{"1":{"a":"}}',
      '{"1":{},"2":{"a":"\\',
      '{"1":7',
    ]) {
      expect(problemOf(text)).toBe('incomplete');
    }
    for (const text of ['{}{}', '{} x', '{"1":{}},']) expect(problemOf(text)).toBe('trailing');
    expect(problemOf('{"\\x":{}}')).toBe('key');
  });

  it('[ANSWER-2] an element that is nested too deeply or too long is refused, also before it is complete', () => {
    const depthMax = 100;
    const nested = (depth: number) => `{"1":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    expect(split([nested(depthMax)], { depthMax })).toHaveLength(1);
    expect(problemOf(nested(depthMax + 1), { depthMax })).toBe('too_deep');
    expect(problemOf(`{"1":${'['.repeat(depthMax + 1)}`, { depthMax })).toBe('too_deep');
    const unfinished = (units: number) => `{${'"1":"'.padEnd(units, 'x')}`;
    expect(problemOf(unfinished(100), { elementUnitsMax: 100 })).toBe('incomplete');
    expect(problemOf(unfinished(101), { elementUnitsMax: 100 })).toBe('too_large');
    expect(split([`${unfinished(99)}"}`], { elementUnitsMax: 100 })).toHaveLength(1);
    expect(problemOf(`${unfinished(100)}"}`, { elementUnitsMax: 100 })).toBe('too_large');
  });
});
