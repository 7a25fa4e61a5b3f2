import { memoryStore } from '@tidemark/client';
import { expect, it } from 'vitest';
import { LocalState } from './local-state.ts';
import { type NewUpload, Replica } from './replica.ts';
import type { UploadRow } from './rows.ts';

const UPLOAD: NewUpload = ['op', { order: 0, source: 'Order', op: 'create', id: 'o', state: 'waiting' } as UploadRow];

/** A replica that leads, with a commit of a change under way that the test lets through. */
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
  const replica = Replica.following(() => undefined);
  const hooks = { onCommitted: (...given: unknown[]) => committed.push(given), onLost: () => undefined };
  replica.lead({ ...kept, commit }, new LocalState([]), hooks);
  let isSaved = false;
  const saved = replica
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
  return { replica, committed, saved, isSaved: () => isSaved, finish };
}

it('[TABS-3] a change whose commit ends after another tab has begun to lead is sent there, and is not reported as stored before that tab says so', async () => {
  const { replica, committed, saved, isSaved, finish } = await committing();
  const sent: unknown[] = [];
  replica.follow((uploads) => sent.push(uploads));
  await finish();
  const stored = () => [...replica.reader.entries('uploads', '')];
  expect([sent, committed, stored(), isSaved()]).toEqual([[[UPLOAD]], [], [], false]);
  const [opId, row] = UPLOAD;
  replica.applyCommitted([{ table: 'uploads', key: ['', opId], value: { ...row } as never }], [opId]);
  await saved;
  expect(stored()).toEqual([UPLOAD]);
});

it('[TABS-3] a change whose commit ends after the tab has led anew with what the store held then is stored once more', async () => {
  const { replica, committed, saved, finish } = await committing();
  replica.follow(() => undefined);
  const kept = memoryStore();
  const hooks = { onCommitted: (...given: unknown[]) => committed.push(given), onLost: () => undefined };
  replica.lead(kept, [], hooks);
  await finish();
  await saved;
  const [opId, value] = UPLOAD;
  const row = { table: 'uploads', key: ['', opId], value };
  expect([committed, await kept.load()]).toEqual([[[[row], [opId]]], [row]]);
});
