import { memoryStore } from '@tidemark/client';
import { expect, it } from 'vitest';
import type { NewUpload, UploadRow } from '../state/rows.ts';
import { type Keeper, Replica } from './replica.ts';
import { WriteQueue } from './write-queue.ts';

const UPLOAD: NewUpload = ['op', { order: 0, source: 'Order', op: 'create', id: 'o', state: 'waiting' } as UploadRow];

/** Another tab that has the store. */
const other = (send: (uploads: readonly NewUpload[]) => void): Keeper => ({
  commit: () => Promise.reject(new Error('this tab does not lead')),
  send,
});

/** A replica whose tab leads, with a commit of a change under way that the test lets through. */
async function committing() {
  const kept = memoryStore();
  let letThrough: () => void = () => undefined;
  let begin: () => void = () => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  const commit: typeof kept.commit = async (...given) => {
    begin();
    await new Promise<void>((resolve) => {
      letThrough = resolve;
    });
    await kept.commit(...given);
  };
  const committed: unknown[] = [];
  const replica = new Replica(() => undefined);
  const writes = new WriteQueue(replica);
  writes.keepBy({ commit, onCommitted: (...given) => committed.push(given) });
  let isSaved = false;
  const saved = writes
    .write([UPLOAD], () => undefined)
    .then(() => {
      isSaved = true;
    });
  await begun;
  const finish = async () => {
    letThrough();
    // The commit ends before a transaction that comes later.
    await replica.transact(() => undefined);
  };
  return { replica, writes, committed, saved, isSaved: () => isSaved, finish };
}

it('[TABS-3] a change whose commit ends after another tab has begun to lead is sent there, and is not reported as stored before that tab says so', async () => {
  const { replica, writes, committed, saved, isSaved, finish } = await committing();
  const sent: unknown[] = [];
  writes.keepBy(other((uploads) => sent.push(uploads)));
  await finish();
  const stored = () => [...replica.reader.entries('uploads', '')];
  expect([sent, committed, stored(), isSaved()]).toEqual([[[UPLOAD]], [], [], false]);
  const [opId, row] = UPLOAD;
  writes.applyCommitted([{ table: 'uploads', key: ['', opId], value: { ...row } as never }], [opId]);
  await saved;
  expect(stored()).toEqual([UPLOAD]);
});

it('[TABS-3] a change whose commit ends after the tab has led anew with what the store held then is stored once more', async () => {
  const { writes, committed, saved, finish } = await committing();
  writes.keepBy(other(() => undefined));
  const kept = memoryStore();
  writes.keepBy({ commit: kept.commit, onCommitted: (...given) => committed.push(given) });
  await finish();
  await saved;
  const [opId, value] = UPLOAD;
  const row = { table: 'uploads', key: ['', opId], value };
  expect([committed, await kept.load()]).toEqual([[[[row], [opId]]], [row]]);
});

it('[TABS-3] a later change of a tab that begins to lead does not go to the server before what the store holds by then', async () => {
  const replica = new Replica(() => undefined);
  const writes = new WriteQueue(replica);
  writes.keepBy(other(() => undefined));
  const update = (opId: string, order: number, n: number): NewUpload => {
    const row = { order, source: 'Order', op: 'update', id: 'o', attributes: { n }, seen: null } as const;
    return [opId, { ...row, state: 'waiting', settled: null, madeAtMs: 0 }];
  };
  const early = writes.write([update('early', writes.takeOrder(), 1)], () => undefined);
  const others = [update('one', 0, 2), update('two', 1, 3)];
  writes.applyCommitted(
    others.map(([opId, row]) => ({ table: 'uploads', key: ['', opId], value: { ...row } as never })),
    ['one', 'two'],
  );
  const late = writes.write([update('late', writes.takeOrder(), 4)], () => undefined);
  const shown = () => writes.uploads().map(([, { attributes }]) => attributes?.n);
  expect(shown().at(-1)).toBe(4);
  writes.keepBy(memoryStore());
  await Promise.all([early, late]);
  expect(shown().at(-1)).toBe(4);
});

it('[TABS-2] a change that is stored after later ones of another tab takes up no update that was made after those', async () => {
  const replica = new Replica(() => undefined);
  const writes = new WriteQueue(replica);
  writes.keepBy(other(() => undefined));
  const update = (opId: string, order: number, n: number): NewUpload => {
    return [opId, { ...UPLOAD[1], order, op: 'update', attributes: { n } }];
  };
  const unsaved = writes.write([update('mine', writes.takeOrder(), 1)], () => undefined);
  const [opId, row] = update('theirs', 5, 2);
  writes.applyCommitted([{ table: 'uploads', key: ['', opId], value: { ...row } as never }], [opId]);
  writes.keepBy(memoryStore());
  await unsaved;
  await writes.write([update('last', writes.takeOrder(), 3)], () => undefined);
  const shown = writes.uploads().map(([name, { attributes }]) => [name, attributes]);
  expect(shown).toEqual([
    ['mine', { n: 1 }],
    ['theirs', { n: 2 }],
    ['last', { n: 3 }],
  ]);
});
