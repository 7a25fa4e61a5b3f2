import { ANSWER_DEPTH_MAX } from '@tidemark/protocol';
import { Dice, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { MemberSplitter, NotMembers } from './split-members.ts';

const UNITS_MAX = 100_000;

function split(chunks: readonly string[], unitsMax = UNITS_MAX): readonly (readonly [string, string])[] {
  const members: (readonly [string, string])[] = [];
  const splitter = new MemberSplitter((id, text) => members.push([id, text]), unitsMax);
  for (const chunk of chunks) splitter.push(chunk);
  splitter.finish();
  return members;
}

function problemOf(text: string, unitsMax?: number): string {
  try {
    split([text], unitsMax);
  } catch (error) {
    if (error instanceof NotMembers) return error.message;
    throw error;
  }
  throw new Error('it was taken apart');
}

function drawText(dice: Dice): string {
  return dice.pick(['', 'a', '"', '\\', '\\"', '{', '}}', '[', ',":', 'é', '😀', '\n', ' ', '\u2028', 'x'.repeat(40)]);
}

function drawValue(dice: Dice, depth: number): unknown {
  const kind = dice.below(depth === 0 ? 3 : 5);
  if (kind === 0) return drawText(dice) + drawText(dice);
  if (kind === 1) return dice.below(1_000) - 500;
  if (kind === 2) return dice.pick([true, false, null]);
  if (kind === 3) return Array.from({ length: dice.below(3) }, () => drawValue(dice, depth - 1));
  return drawObject(dice, depth - 1);
}

function drawObject(dice: Dice, depth: number): Record<string, unknown> {
  const members = Array.from({ length: dice.below(4) }, (_, index) => [
    `${drawText(dice)}${index}`,
    drawValue(dice, depth),
  ]);
  return Object.fromEntries(members) as Record<string, unknown>;
}

function drawChunks(dice: Dice, text: string): readonly string[] {
  const chunks: string[] = [];
  for (let at = 0; at < text.length; ) {
    const length = dice.pick([0, 1, 1, 2, 3, 7, 50]);
    chunks.push(text.slice(at, at + length));
    at += length;
  }
  return chunks;
}

describe('taking an answer apart', () => {
  it('[ANSWER-1] gives the members that JSON.parse finds, however the text is cut into chunks', () => {
    const dice = new Dice(seededRandom(7));
    for (let round = 0; round < 2_000; round++) {
      const objects = Object.fromEntries(
        Array.from({ length: dice.below(5) }, (_, index) => [`${drawText(dice)}${index}`, drawObject(dice, 3)]),
      );
      const text = JSON.stringify(objects, null, dice.pick([0, 0, 1, '\t\r\n']) as number);
      const members = split(drawChunks(dice, text)).map(([id, member]) => [id, JSON.parse(member) as unknown]);
      expect(members).toEqual(Object.entries(JSON.parse(text) as object));
    }
  });

  it('[ANSWER-2] is refused for what is no hash of hashes', () => {
    expect(problemOf('')).toBe('it ends in the middle');
    for (const text of ['[]', 'null', '7', '"x"', '<html>', '\ufeff{}', 'true']) {
      expect(problemOf(text)).toBe('it is not a JSON object');
    }
    for (const text of ['{1:{}}', '{"1"{}}', '{"1":{}"2":{}}', '{"1":{},}', '{,}', '{"1":{}]']) {
      expect(problemOf(text)).toBe('it is not JSON');
    }
    for (const text of ['{', '{"1', '{"1":', '{"1":{', '{"1":{}', '{"1":{"a":"}}', '{"1":{},"2":{"a":"\\']) {
      expect(problemOf(text)).toBe('it ends in the middle');
    }
    for (const text of ['{}{}', '{} x', '{"1":{}},']) expect(problemOf(text)).toBe('something follows behind its end');
    expect(problemOf('{"\\x":{}}')).toBe('a key in it is not JSON');
  });

  it.each([
    ['{"2":"x"}', 'a string'],
    ['{"1":{},"2":7}', 'a number'],
    ['{"2":-7}', 'a number'],
    ['{"2":[]}', 'a list'],
    ['{"2":null}', 'null'],
    ['{"2":true}', 'a boolean'],
    ['{"2":}', 'something that is not JSON'],
  ])('[ANSWER-4] the answer %s is refused with the id of the object and what it is instead', (text, kind) => {
    expect(problemOf(text)).toBe(`object "2": expected an object of attributes, got ${kind}`);
  });

  it('[ANSWER-2] and for what is nested too deeply or holds an object that is too large', () => {
    const nested = (depth: number) => `{"1":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`;
    expect(split([nested(ANSWER_DEPTH_MAX - 1)]).length).toBe(1);
    expect(problemOf(`{"1":{"a":${'['.repeat(ANSWER_DEPTH_MAX)}`)).toBe('it is nested too deeply');
    const large = (units: number) => `{"1":{"a":"${'x'.repeat(units)}`;
    expect(problemOf(large(93), 100)).toBe('it ends in the middle');
    expect(problemOf(large(96), 100)).toBe('an object in it is too large');
  });
});
