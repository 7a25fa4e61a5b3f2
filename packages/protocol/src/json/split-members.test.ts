import { describe, expect, it } from 'vitest';
import { splitMembers } from './scan.ts';

const HARD = ['', '"', '\\', '\\"', '\\\\', 'a"b', '{', '}', ',', ':', '[', ']', '\n', 'ä😀', 'constructor', '":{'];

function membersOf(text: string): [string, string][] {
  const { names, values, end } = splitMembers(text, 0);
  expect([end, values.length]).toEqual([text.length, names.length]);
  return names.map((name, at) => [JSON.parse(name) as string, values[at] ?? '']);
}

describe('splitMembers', () => {
  it('[JRN-1] `splitMembers` finds every member of an object, whatever names and values contain', () => {
    const values = [...HARD, null, true, -1.5e-7, [], {}, [[{ a: [']}'] }]], { '}': '{', '"': ['\\'] }];
    for (const name of HARD) {
      for (const value of values) {
        const object = { first: 1, [name]: value, last: [value] };
        const expected = Object.entries(object).map(([key, member]) => [key, JSON.stringify(member)]);
        expect(membersOf(JSON.stringify(object))).toEqual(expected);
      }
    }
    expect(membersOf('{}')).toEqual([]);
  });

  it('[JRN-1] `splitMembers` throws for text that ends too early', () => {
    for (const text of ['[]', '{"abc', '{"abc\\"', '{"a":', '{"a":[1,2', '{"a":1', '{"a":"b']) {
      expect(() => splitMembers(text, 0)).toThrow();
    }
  });
});
