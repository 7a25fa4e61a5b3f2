import { type ObjectListOptions, TidemarkError } from '@tidemark/backend';
import type { ObjectList } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { compareImport, objectsToSend } from './compare-import.ts';
import type { Attributes } from './object-difference.ts';

type Stored = readonly (readonly [string, Attributes])[];

/** Answers pages of stored objects as the server does, and counts the calls. */
function pagesOf(stored: Stored) {
  const calls: ObjectListOptions[] = [];
  const read = async (options: ObjectListOptions): Promise<ObjectList> => {
    calls.push(options);
    const { after = 0, from, limit = 100 } = options;
    const first = from === undefined ? Number(after) : stored.findIndex(([id]) => id === from);
    if (first === -1) throw new TidemarkError('object_not_found', 'no such object');
    const objects = stored
      .slice(first, first + limit)
      .map(([id, attributes], index) => ({ id, attributes, seq: first + index + 1, created_seq: 1, changed: {} }));
    const next = first + limit < stored.length ? first + limit : null;
    return { objects, next, size: stored.length } as unknown as ObjectList;
  };
  return { calls, read };
}

const many = (count: number): Stored => Array.from({ length: count }, (_, id) => [`o${id}`, { n: id }]);

it('[CONSOLE-42] an import is compared with everything that is stored, and only what differs is sent', async () => {
  const { read } = pagesOf([...many(2_500), ['deep', { a: { x: 1, y: [2] }, other: true }]]);
  const objects = new Map<string, Attributes>([
    ['o7', { n: 7 }],
    ['o2499', { n: 1, m: null }],
    ['deep', { a: { y: [2], x: 1 } }],
    ['constructor', { n: 1 }],
  ]);
  const comparison = await compareImport(objects, read);
  expect(comparison).toEqual({
    added: ['constructor'],
    changed: new Map([
      [
        'o2499',
        [
          { name: 'n', before: 2_499, after: 1 },
          { name: 'm', before: undefined, after: null },
        ],
      ],
    ]),
    unchanged: 2,
    unknown: [],
    stored: 2_501,
  });
  expect([...objectsToSend(objects, comparison).keys()]).toEqual(['o2499', 'constructor']);
});

it('[CONSOLE-42] only the first objects of a file are looked up when very many are stored, and the others are sent uncompared', async () => {
  const { read, calls } = pagesOf(many(20_001));
  const objects = new Map<string, Attributes>(many(250));
  objects.set('o0', { n: 'other' });
  const { added, changed, unchanged, unknown } = await compareImport(objects, read);
  expect([added.length, changed.size, unchanged, unknown.length]).toEqual([0, 1, 199, 50]);
  expect(calls).toHaveLength(201);
  expect(await compareImport(new Map([['new', {}]]), read)).toMatchObject({ added: ['new'], unknown: [] });
  const all = pagesOf(many(20_000));
  await compareImport(objects, all.read);
  expect(all.calls).toHaveLength(21);
});
