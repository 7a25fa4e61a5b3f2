import { ANSWER_DEPTH_MAX, DEFAULT_LIMITS, Refusal } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import { WITHOUT_PAUSE } from '../primitives/work-budget.ts';
import { admitAnswer } from './admit-answer.ts';

async function* chunksOf(text: string): AsyncGenerator<string> {
  for (let at = 0; at < text.length; at += 7) yield text.slice(at, at + 7);
}

const admit = (text: string) => admitAnswer({ chunks: chunksOf(text) }, DEFAULT_LIMITS, WITHOUT_PAUSE);

async function problemOf(text: string): Promise<string> {
  const error: unknown = await admit(text).catch((thrown: unknown) => thrown);
  if (!(error instanceof Refusal) || error.code !== 'backend_error') throw new Error('the answer was not refused');
  return error.message.replace('the answer is not usable: ', '');
}

describe('an answer that arrives as text', () => {
  it.each([
    ['[]', 'it is not a JSON object'],
    ['{"1":{}"2":{}}', 'it is not JSON'],
    ['{"1":{},"2":{"a":"', 'it ends too early'],
    ['{"1":{}} x', 'something follows its end'],
    ['{"\\x":{}}', 'a key in it is not JSON'],
    [`{"1":{"a":${'['.repeat(ANSWER_DEPTH_MAX)}`, 'it is nested too deeply'],
  ])('[ANSWER-2] the answer %j is refused: %s', async (text, problem) => {
    expect(await problemOf(text)).toBe(problem);
  });

  it('[ANSWER-2] an answer with an object larger than the limit of a write is refused', async () => {
    const text = `{"1":{"a":"${'x'.repeat(100)}"}}`;
    const limits = { ...DEFAULT_LIMITS, writeUnitsMax: 100 };
    const answer = admitAnswer({ chunks: chunksOf(text) }, limits, WITHOUT_PAUSE);
    await expect(answer).rejects.toThrow('an object in it is too large');
  });

  it.each([
    ['{"2":"x"}', 'a string'],
    ['{"1":{},"2":7}', 'a number'],
    ['{"2":-7}', 'a number'],
    ['{"2":[]}', 'a list'],
    ['{"2":null}', 'null'],
    ['{"2":true}', 'a boolean'],
    ['{"2":}', 'something that is not JSON'],
  ])('[ANSWER-4] the answer %s is refused with the id of the object and what it is instead', async (text, kind) => {
    expect(await problemOf(text)).toBe(`object "2": expected an object of attributes, got ${kind}`);
  });

  it('[ANSWER-3] objects are found by id, in any order of the answer', async () => {
    const ids = ['9', '10', 'b', 'a', '', 'ä', '1'];
    const objects = await admit(`{${ids.map((id) => `${JSON.stringify(id)}:{"id":${JSON.stringify(id)}}`).join(',')}}`);
    expect(Array.from(objects, ({ id }) => id)).toEqual(ids);
    for (const id of ids) expect(objects.get(id)?.content).toBe(`{"id":${JSON.stringify(id)}}`);
    expect(objects.get('2')).toBeUndefined();
  });

  it('[ANSWER-3] an answer with an id twice is refused, also when one of the two is written with escapes', async () => {
    expect(await problemOf('{"1":{},"2":{},"1":{}}')).toBe('it holds the object "1" twice');
    expect(await problemOf('{"b":{},"a":{},"\\u0062":{}}')).toBe('it holds the object "b" twice');
  });
});
