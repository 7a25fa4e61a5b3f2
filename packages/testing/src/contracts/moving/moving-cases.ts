import assert from 'node:assert/strict';
import { openMemoryStore, seededRandom } from '@tidemark/client-testing';
import {
  compareExports,
  compareKeys,
  type Difference,
  type MovableStore,
  type Piece,
  PORTION_PIECES_MAX,
  PORTION_UNITS_MAX,
  pieceKey,
  sharedPartition,
  userPartition,
} from '@tidemark/core';
import { settableClock } from '../../kit/settable-clock.ts';
import { LEASE_MS, leased, newJob, workOff } from '../jobs/new-job.ts';
import { put, putFiles, readRecord, remove } from '../store/change.ts';
import { observeStore } from '../store/observe-store.ts';
import { populateStore, tidemark } from '../store/populate-store.ts';
import { committed, ORDERS, trimFully } from '../store/store-assertions.ts';
import type { MovingCase } from './moving-case.ts';

/** All cases of export and import. */
export const movingCases: readonly MovingCase[] = [
  {
    title: '[MIGRATE-1] what went out comes in exactly, through another engine and back',
    needs: null,
    async run({ open, openTarget }) {
      const source = await open();
      await furnishEverything(source);
      const before = await observeStore(source);
      const between = openMemoryStore({ random: seededRandom(1) });
      await carry(source, between);
      const target = await openTarget();
      await carry(between, target);
      assert.deepEqual(await differencesOf(source, target), []);
      assert.deepEqual(await observeStore(target), before);
      assert.deepEqual((await target.head()).epoch, (await source.head()).epoch);
      for await (const finding of target.verify(readRecord)) assert.fail(JSON.stringify(finding));
    },
  },
  {
    title: '[MIGRATE-2] an export has one order, the same on every engine, and bounded portions',
    needs: null,
    async run({ open }) {
      const source = await open();
      await furnishEverything(source);
      const long = Array.from({ length: 5 }, (_, index) => put(`long ${index}`, 'x'.repeat(PORTION_UNITS_MAX / 4)));
      await committed(source, long);
      const clients = ['\u{1F600}', '\uFF5E', 'z', 'aa', 'a'];
      for (const [base, client] of clients.entries()) {
        await source.noteTidemark(ORDERS, { ...tidemark(client), epoch: `e${-base}`, base }, []);
      }
      let last: Piece | null = null;
      for await (const portion of source.export(readRecord)) {
        const units = portion.reduce((sum, piece) => sum + (piece.what === 'record' ? piece.record.length : 0), 0);
        assert.ok(portion.length > 0 && portion.length <= PORTION_PIECES_MAX && units <= PORTION_UNITS_MAX);
        for (const piece of portion) {
          if (last !== null) assert.ok(compareKeys(pieceKey(last), pieceKey(piece)) < 0, JSON.stringify([last, piece]));
          last = piece;
        }
      }
    },
  },
  {
    title: '[MIGRATE-3] what was carried goes on where it was: heads, epochs, versions',
    needs: null,
    async run({ open, openTarget }) {
      const source = await open();
      await furnishEverything(source);
      const ann = { kind: 'user', key: ['ann'] } as const;
      const old = (await source.readEntry(ann)) ?? assert.fail();
      const gone = { kind: 'setting', key: ['gone'] } as const;
      await source.writeEntries({ writes: [{ ...gone, value: '1' }], guards: [] });
      const last = (await source.readEntry(gone))?.version ?? assert.fail();
      await source.writeEntries({ writes: [{ ...gone, value: null }], guards: [] });
      const before = await source.partition(ORDERS);
      const target = await openTarget();
      await carry(source, target);
      await target.setMigrationState(null);
      const after = await committed(target, [put('next', 'v', 0)], { expectHead: before.head });
      assert.equal(after.head, before.head + 1);
      const known = [{ epoch: after.epoch, upTo: after.head }, ...(after.earlier ?? [])];
      assert.ok((known.find(({ epoch }) => epoch === before.epoch)?.upTo ?? -1) >= before.head);
      await target.writeEntries({ writes: [{ ...gone, value: 'again', expect: 0 }], guards: [] });
      assert.ok(((await target.readEntry(gone))?.version ?? 0) > last, 'a version was given twice');
      await target.writeEntries({ writes: [{ ...ann, value: 'again', expect: old.version }], guards: [] });
      assert.notEqual((await target.readEntry(ann))?.version, old.version);
    },
  },
  {
    title: '[MIGRATE-3] what was carried goes with its user, device or source like anything else',
    needs: null,
    async run({ open, openTarget }) {
      const source = await open();
      await furnishEverything(source);
      const target = await openTarget();
      await carry(source, target);
      await target.setMigrationState(null);
      for (const store of [source, target]) {
        await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
        await store.writeEntries({ writes: [], guards: [], erase: { users: ['bob'], sources: ['Part'] } });
      }
      assert.deepEqual(await differencesOf(source, target), []);
      assert.equal(await target.readTidemark(ORDERS, 'c1'), null);
      assert.deepEqual(await target.listNotes(ORDERS, 'c1', { kind: 'outcome', limit: 10 }), []);
      assert.equal(await target.bytes(ORDERS), await source.bytes(ORDERS));
    },
  },
  {
    title: '[MIGRATE-4] no server opens a store that is being filled, nor one that was moved',
    needs: 'serve',
    async run({ engine, open, openTarget }) {
      const source = await open();
      await furnishEverything(source);
      const target = await openTarget();
      await carry(source, target);
      await target.close();
      await assert.rejects(serve(target), /holds a migration that was broken off.*--clean/);
      await source.setMigrationState({ state: 'moving', to: 'the new place' });
      assert.deepEqual(await source.migrationState(), { state: 'moving', to: 'the new place' });
      await source.setMigrationState({ state: 'moved', to: 'the new place' });
      await source.close();
      await assert.rejects(serve(source), /moved to the new place/);

      async function serve(closed: MovableStore): Promise<void> {
        await (await engine.serve?.(closed))?.close();
      }
    },
  },
  {
    title: '[MIGRATE-5] jobs are carried with their order, attempts, reasons and times',
    needs: 'jobs',
    async run({ engine, open, openTarget }) {
      const clock = settableClock();
      const source = await open();
      const from = engine.jobs?.(source, clock) ?? assert.fail();
      await from.enqueueAll('pings', [newJob('a'), newJob('b', { order: 'x' }), newJob('c', { order: 'x' })]);
      await from.enqueue('pings', newJob('d', { order: 'x', dueAtMs: clock.nowMs() + 5_000 }));
      await from.enqueue('uploads', newJob('late', { dueAtMs: clock.nowMs() + 10_000 }));
      await from.pause('empty and paused');
      await from.bury(await leased(from), 'no use');
      await from.retry(await leased(from), clock.nowMs() + 1_000, 'later');
      await from.enqueue('uploads', newJob('held'));
      await leased(from, 'uploads');
      const target = await openTarget();
      await carry(source, target);
      await target.setMigrationState(null);
      assert.deepEqual(await differencesOf(source, target), []);
      const to = engine.jobs?.(target, clock) ?? assert.fail();
      for (const jobs of [from, to]) {
        assert.deepEqual(await jobs.queues(), ['empty and paused', 'pings', 'uploads']);
        assert.equal((await jobs.describe('empty and paused')).isPaused, true);
        assert.equal(await jobs.lease('uploads', LEASE_MS), null);
        const [dead] = (await jobs.inspect('pings', 'dead', { limit: 10 })).jobs;
        assert.deepEqual([dead?.lastReason, dead?.attempt], ['no use', 1]);
        assert.equal(await jobs.revive('pings', dead?.id ?? ''), true);
      }
      clock.advance(20_000);
      const done = [await workOff(from), await workOff(from, 'uploads')];
      assert.deepEqual([await workOff(to), await workOff(to, 'uploads')], done);
      assert.equal(done.flat().length, 6);
    },
  },
];

/** Adds notes, expiring entries, trimmed journals and names with unusual order to a populated store. */
async function furnishEverything(store: MovableStore): Promise<void> {
  await populateStore(store);
  const strange = ['~', 'é', '\uffee', '\u{1f600}', 'A', 'a', 'a b'];
  await committed(store, [...strange.map((id) => put(id)), remove('kept')]);
  await trimFully(store, ORDERS, 5);
  await committed(store, [remove('A'), put('kept')]);
  for (const user of strange) {
    const partition = userPartition('Order', user);
    const writes = [
      { kind: 'outcome', key: user, text: `of ${user}` },
      { kind: 'link', key: 'temporary', text: '', endsAtMs: 2_000_000_000_000 },
    ] as const;
    await store.commit({ partition, changes: [], guards: [], notes: { client: 'c1', writes, nowMs: 1 } });
  }
  const notes = { client: 'c1', writes: [{ kind: 'outcome', key: 'op', text: 'told' }], nowMs: 1 } as const;
  await committed(store, [], { notes });
  await committed(store, [putFiles('photos', 'ab'), putFiles('photo', 'b')]);
  await committed(store, [put('shared')], { partition: sharedPartition('\uffee'), notes });
  const parts = new Map(Array.from({ length: 1_100 }, (_, index) => [`part ${index}`, `{"n":${index}}`]));
  const key = { scope: { kind: 'server' }, name: '\u{1f600}' } as const;
  await store.writeDocument({ key, type: 'objects', replace: true, parts, guards: [] });
}

async function carry(from: MovableStore, to: MovableStore): Promise<void> {
  await to.beginImport(await from.head());
  for await (const portion of from.export(readRecord)) await to.import(portion);
}

async function differencesOf(from: MovableStore, to: MovableStore): Promise<Difference[]> {
  const found: Difference[] = [];
  for await (const one of compareExports(from.export(readRecord), to.export(readRecord))) found.push(one);
  return found;
}
