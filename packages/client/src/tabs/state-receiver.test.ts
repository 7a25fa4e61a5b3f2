import { expect, it, vi } from 'vitest';
import { DeviceData } from '../engine/device-data.ts';
import { STEP_ROWS } from '../limits.ts';
import { defaultPlatform } from '../platform/default-platform.ts';
import type { LocalRow } from '../ports/local-store.ts';
import type { Replica } from '../replica/replica.ts';
import type { NewUpload, UploadRow } from '../state/rows.ts';
import { StateReceiver } from './state-receiver.ts';
import type { SharedStatus, SnapshotMessage } from './tab-messages.ts';

const rowOf = (n: number): LocalRow => ({ table: 'objects', key: ['Order', 'o'], value: { n } });
const STATUS = {} as SharedStatus;

const part = (term: string, number: number, n: number): SnapshotMessage => ({
  ...{ type: 'rows', term, number, rows: [rowOf(n)] },
});
const end = (term: string, number: number, seq = 0, rowCount = 1): SnapshotMessage => ({
  ...{ type: 'snapshot', term, number, seq, rowCount, ...STATUS },
});

const commit = (term: string, seq: number, n: number) =>
  ({ type: 'committed', term, seq, writes: [rowOf(n)], saved: [] }) as const;

/** A tab that follows, and shows an object that it got from the tab that led in the term `first`. */
async function following(pause = () => Promise.resolve()) {
  const data = new DeviceData(defaultPlatform(), () => undefined);
  const { replica } = data;
  const calls: string[] = [];
  const follower = new StateReceiver({
    data,
    pause: () => pause(),
    isOpen: () => true,
    onStatus: ({ isKeptOffline }) => {
      if (isKeptOffline) calls.push('kept offline');
    },
    onReady: () => calls.push('ready'),
    askForState: () => calls.push('ask'),
  });
  await follower.takeSnapshotPart(part('first', 0, 1));
  await follower.takeSnapshotPart(end('first', 0));
  const rows = () => replica.reader.snapshot().slice(0, 10);
  return { replica, writes: data.writes, rows, follower, calls };
}

it('[TABS-3] a tab asks again instead of showing an empty state when another tab begins to lead between two parts of an answer', async () => {
  const { rows, follower, calls } = await following();
  await follower.takeSnapshotPart(part('first', 1, 2));
  follower.begin('second');
  await follower.takeSnapshotPart(end('first', 1));
  expect([rows(), calls]).toEqual([[rowOf(1)], ['ready', 'ask', 'ask']]);
  await follower.takeSnapshotPart(part('second', 0, 3));
  await follower.takeSnapshotPart(end('second', 0));
  expect([rows(), calls]).toEqual([[rowOf(3)], ['ready', 'ask', 'ask', 'ready']]);
});

it('[TABS-3] a tab asks again instead of showing an empty state when it has missed a commit between two parts of an answer', async () => {
  const { rows, follower, calls } = await following();
  await follower.takeSnapshotPart(part('first', 1, 2));
  follower.takeCommitted({ type: 'committed', term: 'first', seq: 2, writes: [], saved: [] });
  await follower.takeSnapshotPart(end('first', 1, 1));
  expect([rows(), calls]).toEqual([[rowOf(1)], ['ready', 'ask', 'ask']]);
});

const UPLOAD: NewUpload = ['op', { order: 0, source: 'Order', op: 'update', id: 'o', state: 'waiting' } as UploadRow];

it('[TABS-3] a change that was stored and sent while a tab waited for the state is not sent again', async () => {
  const { writes, follower } = await following();
  follower.begin('second');
  const stored = writes.write([UPLOAD], () => undefined);
  follower.takeCommitted({ ...commit('second', 1, 2), saved: ['op'] });
  await follower.takeSnapshotPart(part('second', 0, 3));
  await follower.takeSnapshotPart(end('second', 0, 2));
  expect(writes.isEmpty).toBe(true);
  await stored;
});

it('[TABS-3] a change that was stored by a commit after one that a tab has missed is not sent again', async () => {
  const { writes, follower } = await following();
  const stored = writes.write([UPLOAD], () => undefined);
  follower.takeCommitted({ ...commit('first', 2, 2), saved: ['op'] });
  await follower.takeSnapshotPart(part('first', 1, 3));
  await follower.takeSnapshotPart(end('first', 1, 3));
  expect(writes.isEmpty).toBe(true);
  await stored;
});

it('[TABS-3] a tab shows an empty state when the tab that leads has one', async () => {
  const { rows, follower, calls } = await following();
  await follower.takeSnapshotPart(end('second', 0, 0, 0));
  expect([rows(), calls]).toEqual([[], ['ready', 'ready']]);
});

it('[TABS-3] a tab does not take over commits of a tab that led before', async () => {
  const { rows, follower } = await following();
  follower.begin('second');
  follower.takeCommitted(commit('first', 1, 2));
  await follower.takeSnapshotPart(part('second', 0, 3));
  await follower.takeSnapshotPart(end('second', 0));
  follower.takeCommitted(commit('first', 1, 2));
  expect(rows()).toEqual([rowOf(3)]);
  follower.takeCommitted(commit('second', 1, 4));
  expect(rows()).toEqual([rowOf(4)]);
});

it('[TABS-3] a tab that has the state does not go back to an older one that was sent twice', async () => {
  const { rows, follower, calls } = await following();
  follower.takeCommitted(commit('first', 1, 2));
  await follower.takeSnapshotPart(part('first', 1, 1));
  await follower.takeSnapshotPart(end('first', 1));
  expect([rows(), calls]).toEqual([[rowOf(2)], ['ready']]);
  follower.takeCommitted(commit('first', 2, 3));
  expect(rows()).toEqual([rowOf(3)]);
});

it('[TABS-7] a tab takes over a state and the commits that follow it in steps, and is ready with the last status', async () => {
  const pauses: (() => void)[] = [];
  const { rows, follower, calls } = await following(() => new Promise((resolve) => pauses.push(resolve)));
  follower.begin('second');
  await follower.takeSnapshotPart(part('second', 0, 2));
  for (const seq of [1, 2]) follower.takeCommitted(commit('second', seq, 2 + seq));
  const taking = follower.takeSnapshotPart(end('second', 0));
  await vi.waitFor(() => expect(pauses).toHaveLength(1));
  expect(rows()).toEqual([rowOf(3)]);
  follower.takeCommitted(commit('second', 3, 5));
  follower.takeStatus({ isKeptOffline: true } as SharedStatus);
  expect(calls).toEqual(['ready', 'ask']);
  for (let step = 1; step <= 3; step++) {
    await vi.waitFor(() => expect(pauses).toHaveLength(step));
    pauses.at(-1)?.();
  }
  await taking;
  expect([rows(), calls]).toEqual([[rowOf(5)], ['ready', 'ask', 'kept offline', 'ready']]);
});

it('[TABS-3] a tab drops a state that it is taking over when another tab begins to lead', async () => {
  const pauses: (() => void)[] = [];
  const { rows, follower, calls } = await following(() => new Promise((resolve) => pauses.push(resolve)));
  follower.begin('second');
  await follower.takeSnapshotPart(part('second', 0, 2));
  for (const seq of [1, 2]) follower.takeCommitted(commit('second', seq, 2 + seq));
  const taking = follower.takeSnapshotPart(end('second', 0));
  await vi.waitFor(() => expect(pauses).toHaveLength(1));
  follower.begin('third');
  pauses[0]?.();
  await taking;
  expect([rows(), calls]).toEqual([[rowOf(3)], ['ready', 'ask', 'ask']]);
  await follower.takeSnapshotPart(part('third', 0, 9));
  await follower.takeSnapshotPart(end('third', 0));
  expect([rows(), calls]).toEqual([[rowOf(9)], ['ready', 'ask', 'ask', 'ready']]);
});

const VISITS = 2 * STEP_ROWS;
const SOURCE = { description: { name: 'Visit' }, seen: null, token: 't', staging: null, syncedAtMs: 0, heals: 0 };
const visits: readonly LocalRow[] = [
  { table: 'sources', key: ['', 'Visit'], value: SOURCE },
  ...Array.from({ length: VISITS }, (_, n): LocalRow => ({ table: 'objects', key: ['Visit', `${n}`], value: { n } })),
];

/** Takes a state over into an open tab whose app begins to show a source between two steps. Returns how many objects it showed. */
async function shownFrom(step: number, showsOther: boolean) {
  const data = new DeviceData(defaultPlatform(), () => undefined);
  const { replica } = data;
  const shown: number[] = [];
  let steps = 0;
  const show = () => void shown.push(replica.view('Visit').list().length);
  const follower = new StateReceiver({
    data,
    pause: async () => {
      if (steps++ !== step) return;
      replica.view('Visit').subscribe(show);
      show();
    },
    isOpen: () => true,
    ...{ onStatus: () => undefined, onReady: () => undefined, askForState: () => undefined },
  });
  if (showsOther) replica.view('Order');
  await follower.takeSnapshotPart({ type: 'rows', term: 'first', number: 0, rows: visits });
  await follower.takeSnapshotPart(end('first', 0, 0, visits.length));
  return { shown, steps };
}

for (const { which, showsOther } of [
  { which: 'that shows nothing yet', showsOther: false },
  { which: 'that shows another source', showsOther: true },
]) {
  it(`[TABS-7] an open tab ${which} never shows half of a source that the app asks for between two steps`, async () => {
    const { steps } = await shownFrom(-1, showsOther);
    expect(steps).toBeGreaterThan(1);
    for (let step = 0; step < steps; step++) {
      const { shown } = await shownFrom(step, showsOther);
      expect([step, shown.filter((count) => count !== 0)]).toEqual([step, [VISITS]]);
    }
  });
}

/** More than are worked on in one step. */
const OBJECTS = STEP_ROWS + 2;
const MANY: readonly LocalRow[] = [
  { table: 'sources', key: ['', 'Order'], value: { description: { name: 'Order' }, staging: null } },
  ...Array.from({ length: OBJECTS }, (_, n) => ({ ...rowOf(n), key: ['Order', `o${n}`] as const })),
];

const shown = (replica: Replica) => replica.view('Order').list().length;

const manyOf = (term: string, number: number): SnapshotMessage => ({ type: 'rows', term, number, rows: MANY });

it('[TABS-7] a tab that takes over a state in steps keeps all of it when the same state is sent once more meanwhile', async () => {
  const pauses: (() => void)[] = [];
  const { replica, follower, calls } = await following(() => new Promise((resolve) => pauses.push(resolve)));
  follower.begin('second');
  await follower.takeSnapshotPart(manyOf('second', 0));
  void follower.takeSnapshotPart(end('second', 0, 0, MANY.length));
  await vi.waitFor(() => expect(pauses).toHaveLength(1));
  // The last objects of the state are not there yet when the second answer is compared with it, and are when it ends.
  await follower.takeSnapshotPart(manyOf('second', 1));
  pauses.shift()?.();
  await vi.waitFor(() => expect(pauses).toHaveLength(1));
  void follower.takeSnapshotPart(end('second', 1, 0, MANY.length));
  await vi.waitFor(() => {
    for (const resume of pauses.splice(0)) resume();
    expect(calls).toEqual(['ready', 'ask', 'ready']);
  });
  expect([shown(replica), replica.reader.snapshot().count]).toEqual([OBJECTS, MANY.length]);
});

it('[TABS-7] the app sees the state of a tab that begins to lead at once, however many objects it changes', async () => {
  const seen = new Set<number>();
  const { replica, follower } = await following(async () => void seen.add(shown(replica)));
  expect(shown(replica)).toBe(1);
  await follower.takeSnapshotPart(manyOf('second', 0));
  await follower.takeSnapshotPart(end('second', 0, 0, MANY.length));
  seen.add(shown(replica));
  expect(seen).toEqual(new Set([OBJECTS]));
});
