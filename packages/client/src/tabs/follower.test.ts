import { expect, it } from 'vitest';
import type { LocalRow } from '../ports/local-store.ts';
import { Replica } from '../state/replica.ts';
import { Follower } from './follower.ts';
import type { SharedStatus, SnapshotMessage } from './tab-messages.ts';

const rowOf = (n: number): LocalRow => ({ table: 'objects', key: ['Order', 'o'], value: { n } });
const STATUS = {} as SharedStatus;

const part = (term: string, number: number, n: number): SnapshotMessage => ({
  ...{ type: 'rows', term, number, rows: [rowOf(n)] },
});
const end = (term: string, number: number, seq = 0, rowCount = 1): SnapshotMessage => ({
  ...{ type: 'snapshot', term, number, seq, rowCount, ...STATUS },
});

/** A tab that follows, and shows an object that it got from the tab that led in the term `first`. */
function following() {
  const replica = Replica.following(() => undefined);
  const calls: string[] = [];
  const follower = new Follower({
    replica,
    onStatus: () => undefined,
    onReady: () => calls.push('ready'),
    askForState: () => calls.push('ask'),
  });
  follower.takeSnapshotPart(part('first', 0, 1));
  follower.takeSnapshotPart(end('first', 0));
  return { replica, follower, calls };
}

it('[TABS-3] a tab asks again instead of showing an empty state when another tab begins to lead between two parts of an answer', () => {
  const { replica, follower, calls } = following();
  follower.takeSnapshotPart(part('first', 1, 2));
  follower.begin('second');
  follower.takeSnapshotPart(end('first', 1));
  expect([replica.rows(), calls]).toEqual([[rowOf(1)], ['ready', 'ask', 'ask']]);
  follower.takeSnapshotPart(part('second', 0, 3));
  follower.takeSnapshotPart(end('second', 0));
  expect([replica.rows(), calls]).toEqual([[rowOf(3)], ['ready', 'ask', 'ask', 'ready']]);
});

it('[TABS-3] a tab asks again instead of showing an empty state when it has missed a commit between two parts of an answer', () => {
  const { replica, follower, calls } = following();
  follower.takeSnapshotPart(part('first', 1, 2));
  follower.takeCommitted({ type: 'committed', term: 'first', seq: 2, writes: [], saved: [] });
  follower.takeSnapshotPart(end('first', 1, 1));
  expect([replica.rows(), calls]).toEqual([[rowOf(1)], ['ready', 'ask', 'ask']]);
});

it('[TABS-3] a tab shows an empty state when the tab that leads has one', () => {
  const { replica, follower, calls } = following();
  follower.takeSnapshotPart(end('second', 0, 0, 0));
  expect([replica.rows(), calls]).toEqual([[], ['ready', 'ready']]);
});
