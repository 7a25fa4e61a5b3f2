import type { Change, PartitionKey, Store } from '@tidemark/core';
import { startValkey, startValkeyCluster } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readAddress } from './address.ts';
import { doomOf, doomsOf, guardArgs, memberArgs } from './guards.ts';
import { keyOf, membersFrom, placeMember, placeOf, sourceMember } from './keys.ts';
import { Layout } from './layout.ts';
import { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { openValkeyStore } from './open-valkey-store.ts';
import { listOf, textOf } from './reply.ts';
import { admitScript } from './scripts/admission.ts';
import { noteTidemarkScript } from './scripts/devices.ts';
import { documentNamesScript, writeDocumentScript } from './scripts/documents.ts';
import { erasePlaceScript, sweepScript, sweptScript, writeEntriesScript } from './scripts/registry.ts';
import { markMember, markRange } from './tidemarks.ts';
import type { Argument } from './wire.ts';

const ANN = { kind: 'user', key: ['ann'] } as const;
const ORDERS: PartitionKey = { source: 'Order', user: 'ann' };
const SHARED: PartitionKey = { source: 'Order', user: null };
const put = (id: string): Change => ({ id, record: id, checksum: 1 });
const NEVER_WRITTEN = { head: 0, floor: 0, size: 0, checksum: 0 };

describe.each(['one node', 'a cluster'])('erasing on %s', (where) => {
  let servers: { readonly address: string; remove(): Promise<void> };
  let stores = 0;

  beforeAll(async () => {
    const settings = { appendonly: 'no' };
    servers = where === 'one node' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  });

  afterAll(() => servers.remove());

  /** A store with a user who has data, and the way behind its back. */
  async function furnished() {
    const prefix = `${where} ${++stores}:`;
    const store = await openValkeyStore({ address: servers.address, prefix, answerMs: 30_000 });
    const address = readAddress(servers.address);
    if (address === null) throw new Error('the kit gave no address');
    const link = await Link.open({ address, answerMs: 30_000 });
    onTestFinished(async () => {
      await store.close();
      link.close();
    });
    await store.writeEntries({ writes: [{ ...ANN, value: 'v' }], guards: [] });
    for (const partition of [ORDERS, SHARED]) {
      await store.commit({ partition, changes: [put('1'), put('2')], guards: [] });
      await store.noteTidemark(partition, { ...MARK, client: 'c1' }, []);
    }
    return { store, link, layout: new Layout(prefix) };
  }

  const MARK = { client: 'c1', epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: 1 };

  /** What a server does that dies right after the first of the two steps. */
  async function begin(link: Link, layout: Layout, doom: string): Promise<void> {
    const removal = [keyOf('user', 'ann'), '', ''];
    const args: Argument[] = [...guardArgs([]), ...listArgs([]), ...listArgs(removal), ...listArgs([doom])];
    await link.run(writeEntriesScript, layout.registry, args);
  }

  async function insistOnNothing(store: Store): Promise<void> {
    expect(await store.partition(ORDERS)).toEqual({ epoch: await store.epoch(), ...NEVER_WRITTEN });
    expect(await store.partitions({ limit: 10 })).toEqual([SHARED]);
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
  }

  it('[VALKEY-8] an erasure that was interrupted is finished before the name is used again', async () => {
    const { store, link, layout } = await furnished();
    await begin(link, layout, doomOf('user', 'ann'));
    expect(await store.partitions({ limit: 10 })).toEqual([SHARED]);
    // On one node, what is to be erased reads as erased from the first step on.
    if (where === 'one node') await insistOnNothing(store);
    expect(await store.writeEntries({ writes: [{ ...ANN, value: 'new' }], guards: [] })).toEqual({ status: 'written' });
    await insistOnNothing(store);
  });

  it('[VALKEY-8] an erasure that was interrupted is finished before anything is written there', async () => {
    const { store, link, layout } = await furnished();
    await begin(link, layout, doomOf('user', 'ann'));
    const result = await store.commit({ partition: ORDERS, changes: [put('new')], guards: [] });
    expect(result).toMatchObject({ status: 'committed', state: { head: 1, size: 1 } });
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
  });

  it('[VALKEY-8] an erasure that was interrupted is finished by whoever looks after the store', async () => {
    const { store, link, layout } = await furnished();
    await begin(link, layout, doomOf('user', 'ann'));
    await store.sweep();
    await insistOnNothing(store);
    expect(await link.command('EXISTS', layout.registryKey('doomed'))).toBe(0);
    const [state = '', fence = ''] = layout.place(placeOf(ORDERS)).some(['state', 'fence']);
    expect(await link.command('EXISTS', state)).toBe(0);
    // The fence goes by itself, too.
    expect(await link.command('TTL', fence)).toBeGreaterThan(0);
  });

  it('[VALKEY-8] an interrupted reset is finished by the next write', async () => {
    const { store, link, layout } = await furnished();
    await begin(link, layout, keyOf('everything'));
    expect(await store.partitions({ limit: 10 })).toEqual([]);
    await store.writeEntries({ writes: [{ ...ANN, value: 'new' }], guards: [] });
    for (const key of [ORDERS, SHARED]) expect(await store.partition(key)).toMatchObject(NEVER_WRITTEN);
  });

  it('[VALKEY-9] whoever comes late to help erases nothing of what was made since', async () => {
    const { store, link, layout } = await furnished();
    const doom = doomOf('user', 'ann');
    await begin(link, layout, doom);
    const range = membersFrom(keyOf('user', 'ann'));
    const sweep = [doom, 'places', range.min, range.max, '', '', ''];
    const [, version, at] = listOf(await link.run(sweepScript, layout.registry, sweep));
    await store.sweep();
    await store.commit({ partition: ORDERS, changes: [put('new')], guards: [] });
    const place = placeOf(ORDERS);
    const order = [textOf(version), textOf(at)];
    await link.run(erasePlaceScript, layout.place(place).some(erasePlaceScript.keys), order);
    const members = [...listArgs([placeMember(place)]), ...listArgs([sourceMember(place) ?? '']), ...listArgs([])];
    await link.run(sweptScript, layout.registry, [doom, textOf(version), ...members]);
    expect(await store.partition(ORDERS)).toMatchObject({ head: 1, size: 1 });
    expect(await store.partitions({ limit: 10 })).toContainEqual(ORDERS);
  });

  it('[VALKEY-9] an order to erase is good for a bounded time', async () => {
    const { store, link, layout } = await furnished();
    const order = ['9007199254740991', '1'];
    const reply = listOf(
      await link.run(erasePlaceScript, layout.place(placeOf(ORDERS)).some(erasePlaceScript.keys), order),
    );
    expect(textOf(reply[0])).toBe('stale');
    expect(await store.partition(ORDERS)).toMatchObject({ size: 2 });
  });

  it('[VALKEY-10] a place from before the registry was lost reads as empty, and begins anew', async () => {
    const { store, link, layout } = await furnished();
    const before = await store.partition(ORDERS);
    for (const key of layout.registry) await link.command('DEL', key);
    // Without this, a cluster notices with the next write, or within a few seconds.
    await store.sweep();
    const after = await store.partition(ORDERS);
    expect(after).toEqual({ epoch: await store.epoch(), ...NEVER_WRITTEN });
    expect(before.epoch.startsWith(after.epoch)).toBe(false);
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
    const result = await store.commit({ partition: ORDERS, changes: [put('new')], guards: [] });
    expect(result).toMatchObject({ status: 'committed', state: { head: 1, size: 1 } });
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
  });

  if (where !== 'a cluster') return;

  describe('what the registry has admitted', () => {
    /** A ticket as the registry gives it, held back on its way to its place. */
    async function ticketFor(link: Link, layout: Layout, client: string | null = null): Promise<Argument[]> {
      const place = placeOf(ORDERS);
      const args = [...guardArgs([ANN]), ...listArgs(doomsOf(place, client)), ...memberArgs(place, client)];
      const [kind, ...ticket] = listOf(await link.run(admitScript, layout.registry, ['0', ...args]));
      expect(textOf(kind)).toBe('admitted');
      return ticket.map((word) => textOf(word));
    }

    async function writeNote(link: Link, layout: Layout, ticket: readonly Argument[]): Promise<string> {
      const keys = layout.place(placeOf(ORDERS));
      const args = [...ticket, 'note', 'text', '1', '', ...listArgs(['0']), ...listArgs(['00001x'])];
      return textOf(
        listOf(
          await link.run(writeDocumentScript, [...keys.some(writeDocumentScript.keys), keys.partsOf('note')], args),
        )[0],
      );
    }

    it('[VALKEY-11] is refused by its place once that was erased, however late it comes', async () => {
      const { store, link, layout } = await furnished();
      const ticket = await ticketFor(link, layout);
      await store.writeEntries({ writes: [{ ...ANN, value: null }], guards: [], erase: { users: ['ann'] } });
      expect(await writeNote(link, layout, ticket)).toBe('stale');
      await store.writeEntries({ writes: [{ ...ANN, value: 'another' }], guards: [] });
      expect(await writeNote(link, layout, ticket)).toBe('stale');
      expect(await writeNote(link, layout, await ticketFor(link, layout))).toBe('written');
      const place = placeOf(ORDERS);
      const names = await link.run(documentNamesScript, layout.place(place).some(documentNamesScript.keys), [
        await store.epoch(),
        '1',
      ]);
      expect(listOf(names)).toHaveLength(2);
    });

    it('[VALKEY-11] is refused when a device was erased meanwhile, and only what is of that device', async () => {
      const { store, link, layout } = await furnished();
      const keys = layout.place(placeOf(ORDERS));
      const note = async (client: string, ticket: readonly Argument[]) => {
        const { min, max } = markRange(client);
        const args = [...ticket, min, max, markMember({ ...MARK, client })];
        return textOf(
          listOf(
            await link.run(noteTidemarkScript, [...keys.some(noteTidemarkScript.keys), keys.clientFence(client)], args),
          )[0],
        );
      };
      const [mine, other] = [await ticketFor(link, layout, 'c1'), await ticketFor(link, layout, 'c2')];
      await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
      expect([await note('c1', mine), await note('c2', other)]).toEqual(['stale', 'written']);
      expect((await store.listTidemarks(ORDERS, { limit: 10 })).map(({ client }) => client)).toEqual(['c2']);
    });

    it('[VALKEY-11] is good for a bounded time', async () => {
      const { link, layout } = await furnished();
      const [version = '', , epoch = '', erased = ''] = await ticketFor(link, layout);
      expect(await writeNote(link, layout, [version, '1', epoch, erased])).toBe('stale');
    });
  });
});
