import { Rng, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { type BodyForm, type Chunk, chunksOf, type Piece } from './chunks.ts';

const form: BodyForm = { envelope: { user_id: 'ada' }, sections: [{ name: 'objects', brackets: '{}' }] };

function pieces(...objects: readonly (readonly [string, unknown])[]): readonly Piece[] {
  return objects.map(([id, value]) => ({ id, texts: [`${JSON.stringify(id)}:${JSON.stringify(value)}`] }));
}

async function all(
  given: Iterable<Piece>,
  bounds: Partial<{ bytesMax: number; objectsMax: number }> = {},
  shape = form,
) {
  const chunks: Chunk[] = [];
  for await (const chunk of chunksOf(given, shape, { bytesMax: 10_000, objectsMax: 1_000, ...bounds }))
    chunks.push(chunk);
  return chunks;
}

describe('bodies', () => {
  it('[BSDK-6] what fits into one call is one call; nothing is one, too', async () => {
    expect(await all(pieces(['1', { a: 1 }], ['2', {}]))).toEqual([
      { body: '{"user_id":"ada","objects":{"1":{"a":1},"2":{}}}', objects: 2, bytes: 48, isLast: true },
    ]);
    expect(await all([])).toEqual([{ body: '{"user_id":"ada","objects":{}}', objects: 0, bytes: 30, isLast: true }]);
  });

  it('[BSDK-6] exactly as much as allowed is one call, one byte or object more are two', async () => {
    const given = pieces(['1', { a: 'ä€😀' }], ['2', {}]);
    const [whole] = await all(given);
    const bytesMax = Buffer.byteLength(whole?.body ?? '');
    expect((await all(given, { bytesMax })).length).toBe(1);
    expect((await all(given, { bytesMax: bytesMax - 1 })).map(({ isLast }) => isLast)).toEqual([false, true]);
    expect((await all(given, { objectsMax: 2 })).length).toBe(1);
    expect((await all(given, { objectsMax: 1 })).length).toBe(2);
  });

  it('[BSDK-6] an object that comes again begins a new call, so that neither hides the other', async () => {
    const chunks = await all(pieces(['1', { a: 1 }], ['2', {}], ['1', { b: 2 }]));
    expect(chunks.map(({ body }) => JSON.parse(body).objects)).toEqual([{ 1: { a: 1 }, 2: {} }, { 1: { b: 2 } }]);
  });

  it('[BSDK-6] an object larger than a call is told by its id', async () => {
    const given = pieces(['small', {}], ['huge', { a: 'x'.repeat(100) }]);
    await expect(all(given, { bytesMax: 100 })).rejects.toMatchObject({
      code: 'object_too_large',
      message: expect.stringContaining('"huge"'),
    });
  });

  it('[BSDK-6] both states of an object stay in one call', async () => {
    const states: BodyForm = {
      envelope: {},
      sections: [
        { name: 'delete_data', brackets: '{}' },
        { name: 'data', brackets: '{}' },
      ],
    };
    const given = ['1', '2', '3'].map((id) => ({
      id,
      texts: [id === '2' ? null : `"${id}":{"a":0}`, `"${id}":{"a":1}`],
    }));
    expect((await all(given, { objectsMax: 2 }, states)).map(({ body }) => JSON.parse(body))).toEqual([
      { delete_data: { 1: { a: 0 } }, data: { 1: { a: 1 }, 2: { a: 1 } } },
      { delete_data: { 3: { a: 0 } }, data: { 3: { a: 1 } } },
    ]);
  });
});

it('[BSDK-6] whatever the objects are, none is lost, moved or too much', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const rng = new Rng(seededRandom(seed));
    const count = rng.below(40);
    const given = pieces(
      ...Array.from({ length: count }, (_, n): [string, unknown] => [`${n}é`, { text: '€'.repeat(rng.below(30)) }]),
    );
    const bounds = { bytesMax: 160 + rng.below(300), objectsMax: 1 + rng.below(8) };
    const chunks = await all(given, bounds);
    const ids = chunks.flatMap(({ body }) => Object.keys(JSON.parse(body).objects));
    expect({ seed, ids }).toEqual({ seed, ids: given.map(({ id }) => id) });
    for (const { body, bytes, objects } of chunks) {
      expect({ seed, bytes }).toEqual({ seed, bytes: Buffer.byteLength(body) });
      expect(bytes).toBeLessThanOrEqual(bounds.bytesMax);
      expect(objects).toBeLessThanOrEqual(bounds.objectsMax);
    }
  }
});
