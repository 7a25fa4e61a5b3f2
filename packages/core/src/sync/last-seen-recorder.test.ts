import { collectingLog, newTidemark } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { type Acknowledgement, recordTidemark } from '../pages/record-tidemark.ts';
import { userPartition } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';
import { LastSeenRecorder } from './last-seen-recorder.ts';

const ORDERS = userPartition('Order', 'ada');
const DEVICE = { user: 'ada', client: 'c1' };

it('[EXPLAIN-14] what a server records late as sent does not undo what another has recorded as acknowledged', async () => {
  const { tidemark, store, clock } = await newTidemark();
  await tidemark.clients.register('ada', { client_id: 'c1' });
  const own = { ...(await tidemark.clients.own('ada', 'c1')), lastSyncMs: clock.nowMs() };
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 }, 2: { a: 1 } } });
  const state = await store.partition(ORDERS);
  const newRecorder = () => {
    const callbacks = { freshness: { presented: () => undefined }, onAcknowledged: () => undefined };
    return new LastSeenRecorder({ store, clock, log: collectingLog(), clients: tidemark.clients, ...callbacks });
  };
  const presented = (seq: number, sent?: number) => {
    const baseline = { kind: 'base', seq } as const;
    const start = { kind: 'continue', after: seq, baseline } as const;
    const token = { epoch: state.epoch, baseline };
    return [{ partition: ORDERS, state, start, token, ...(sent === undefined ? {} : { sent }) }];
  };
  const slow = newRecorder();
  const other = newRecorder();
  await slow.record(DEVICE, own, presented(1));
  clock.advance(1_000);
  const hold = holdNextTidemark(store);
  const late = slow.record(DEVICE, own, presented(1, 2));
  await hold.isHeld;
  clock.advance(10);
  await other.record(DEVICE, own, presented(2));
  hold.release();
  await late;
  expect(await store.readTidemark(ORDERS, 'c1')).toEqual({
    ...{ client: 'c1', epoch: state.epoch, seq: 2, base: 2, start: null },
    seenAtMs: clock.nowMs(),
  });
});

it('[EXPLAIN-14] what another server has recorded meanwhile of an earlier visit does not stop the record of a later one', async () => {
  const { tidemark, store, clock } = await newTidemark();
  await tidemark.clients.register('ada', { client_id: 'c1' });
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 }, 2: { a: 1 } } });
  const { epoch } = await store.partition(ORDERS);
  const earlier = { client: 'c1', epoch, seq: 1, base: 1, start: null, seenAtMs: clock.nowMs() };
  const later = { ...earlier, seq: 2, base: 2, seenAtMs: clock.nowMs() + 10 };
  const noted: unknown[] = [];
  const hold = holdNextTidemark(store);
  const parts = { store, onAcknowledged: ({ seq, previous }: Acknowledgement) => noted.push({ seq, previous }) };
  const recorded = recordTidemark(parts, ORDERS, later, []);
  await hold.isHeld;
  await store.noteTidemark(ORDERS, earlier, []);
  hold.release();
  expect(await recorded).toEqual(later);
  expect(await store.readTidemark(ORDERS, 'c1')).toEqual(later);
  expect(noted).toEqual([{ seq: 2, previous: 1 }]);
});

/** Holds the next call that records a tidemark until it is released. */
function holdNextTidemark(store: Store): { readonly isHeld: Promise<void>; readonly release: () => void } {
  const { noteTidemark } = store;
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const isHeld = new Promise<void>((resolve) => {
    store.noteTidemark = async (...call) => {
      store.noteTidemark = noteTidemark;
      resolve();
      await released;
      return noteTidemark.apply(store, call);
    };
  });
  return { isHeld, release: () => release() };
}
