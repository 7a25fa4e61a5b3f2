import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { CommitRange, Committed, LivePage } from '@tidemark/core';
import { sharedPartition, userPartition } from '@tidemark/core';
import { EventReader } from '@tidemark/testing';
import { silentLog } from '@tidemark/testing/server';
import { describe, expect, it, onTestFinished } from 'vitest';
import { EventHub, type EventHubParts } from './event-hub.ts';
import { SOURCES_PER_ROUND_MAX } from './pending-changes.ts';

const shared = (source: string) => ({ partition: sharedPartition(source), cause: 'push' }) as const;
const own = (source: string, user: string) => ({ partition: userPartition(source, user), cause: 'push' }) as const;
const changed = (source: string) => ({ name: 'changed', data: { source } });
const READY = { name: 'ready', data: { heartbeat_s: 60 } };

/** A hub behind a bare server; the path `user/client` identifies the caller. */
async function openHub(changes: Partial<EventHubParts> = {}) {
  const hub = new EventHub({
    bearers: { isGood: async () => true },
    clients: { isWiped: async () => false },
    clock: { nowMs: () => 0 },
    log: silentLog(),
    heartbeatMs: 60_000,
    streamsMax: 10,
    streamsPerUserMax: 10,
    ...changes,
  });
  const server = createServer((request, response) => {
    const [user = '', client = ''] = (request.headers.authorization ?? '').slice('Bearer '.length).split('/');
    response.removeHeader('transfer-encoding');
    response.writeHead(200);
    const pages = new URL(request.url ?? '', 'http://hub.test').searchParams.getAll('pages');
    response.once('close', hub.connect({ user, client, tokenHash: `token of ${client}` }, response, pages));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => close(hub, server));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const listen = async (who: string, ...pages: readonly string[]) => {
    const reader = await EventReader.open(url, who, { pages });
    onTestFinished(() => reader.close());
    expect((await reader.next())?.name).toBe('ready');
    return reader;
  };
  return { hub, server, listen, url };
}

async function close(hub: EventHub, server: Server): Promise<void> {
  hub.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

describe('events', () => {
  it('[EVENT-1] the first event contains the heartbeat interval', async () => {
    const { url } = await openHub();
    const reader = await EventReader.open(url, 'anna/phone');
    expect(await reader.next()).toEqual(READY);
    reader.close();
  });

  it('[EVENT-2] a change of shared data is sent to all devices, a change of user data to the devices of the user', async () => {
    const { hub, listen } = await openHub();
    const [phone, tablet, bob] = [await listen('anna/phone'), await listen('anna/tablet'), await listen('bob/pc')];
    hub.committed(own('Order', 'anna'));
    expect(await Promise.all([phone.next(), tablet.next()])).toEqual([changed('Order'), changed('Order')]);
    hub.committed(own('Order', 'nobody who listens'));
    hub.committed(shared('Product'));
    for (const reader of [phone, tablet, bob]) expect(await reader.next()).toEqual(changed('Product'));
  });

  it('[EVENT-3] changes in quick succession are sent once per source', async () => {
    const { hub, listen } = await openHub();
    const phone = await listen('anna/phone');
    for (let count = 0; count < 1_000; count++) {
      hub.committed(shared('Product'));
      hub.committed(own('Order', 'anna'));
    }
    expect([await phone.next(), await phone.next()]).toEqual([changed('Order'), changed('Product')]);
    hub.committed(shared('Last'));
    expect(await phone.next()).toEqual(changed('Last'));
  });

  it('[EVENT-3] changes of too many sources are sent as one event to pull everything', async () => {
    const { hub, listen } = await openHub();
    const phone = await listen('anna/phone');
    for (let count = 0; count < SOURCES_PER_ROUND_MAX; count++) hub.committed(shared(`Source ${count}`));
    for (let count = 0; count < SOURCES_PER_ROUND_MAX; count++) {
      expect(await phone.next()).toEqual(changed(`Source ${count}`));
    }
    for (let count = 0; count <= SOURCES_PER_ROUND_MAX; count++) hub.committed(shared(`Source ${count}`));
    expect(await phone.next()).toEqual({ name: 'pull', data: {} });
  });

  it('[EVENT-4] a ping reaches the listening device, and its sender learns whether it did', async () => {
    const { hub, listen } = await openHub();
    const phone = await listen('anna/phone');
    expect(hub.ping('phone', { ping_id: 'p1', message: 'two\nlines "quoted"' })).toBe(true);
    expect(await phone.next()).toEqual({ name: 'ping', data: { ping_id: 'p1', message: 'two\nlines "quoted"' } });
    expect(hub.outcomes('phone')).toBe(true);
    expect(await phone.next()).toEqual({ name: 'outcomes', data: {} });
    expect([hub.ping('tablet', { ping_id: 'p2' }), hub.outcomes('tablet')]).toEqual([false, false]);
  });
});

/** A partition whose head is `head`, and the number of pages that were read from it. */
class LivePartition {
  reads: CommitRange[] = [];
  head = 0;
  /** Called while a page is read. */
  onRead: () => Promise<void> | void = () => undefined;

  /** A commit of one object. */
  commit(partition = sharedPartition('Product')): Committed {
    this.head++;
    const range = { epoch: 'e', after: this.head - 1, upTo: this.head };
    return { partition, cause: 'push', range };
  }

  readonly read = async (_: unknown, range: CommitRange): Promise<LivePage | null> => {
    this.reads.push(range);
    await this.onRead();
    const start = { kind: 'continue', after: range.after, baseline: { kind: 'base', seq: range.after } } as const;
    const body = { parts: ['"size":1}'], units: 9 };
    const page = { token: `t${this.head}`, more: false, isShared: true, entries: 1, start, body };
    return { from: `t${range.after}`, page, range: { ...range, upTo: this.head }, version: null };
  };
}

const live = (from: number, to: number, source = 'Product') => ({
  name: 'changed',
  data: { source, from: `t${from}`, page: { token: `t${to}`, size: 1 } },
});

describe('events with pages', () => {
  it('[EVENT-10] a page is read once and sent to the devices that take it; the others get a hint', async () => {
    const partition = new LivePartition();
    const { hub, listen } = await openHub({ readLivePage: partition.read });
    const readers = [await listen('anna/phone', '*'), await listen('anna/tablet', 'Order', 'Product')];
    const others = [await listen('bob/pc'), await listen('bob/watch', 'Order')];
    hub.committed(partition.commit());
    for (const reader of readers) expect(await reader.next()).toEqual(live(0, 1));
    for (const reader of others) expect(await reader.next()).toEqual(changed('Product'));
    expect(partition.reads).toHaveLength(1);
    hub.committed(own('Order', 'anna'));
    for (const reader of readers) expect(await reader.next()).toEqual(changed('Order'));
  });

  it('[EVENT-10] a page that nobody takes is not read', async () => {
    const partition = new LivePartition();
    const { hub, listen } = await openHub({ readLivePage: partition.read });
    const phone = await listen('anna/phone', 'Order');
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(changed('Product'));
    expect(partition.reads).toEqual([]);
  });

  it('[EVENT-10] each page begins where the last one ended, in whatever order the hub hears of commits', async () => {
    const partition = new LivePartition();
    const { hub, listen } = await openHub({ readLivePage: partition.read });
    const phone = await listen('anna/phone', '*');
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(live(0, 1));
    const [second, third] = [partition.commit(), partition.commit()];
    hub.committed(third);
    expect(await phone.next()).toEqual(live(1, 3));
    // The page has brought this commit already.
    hub.committed(second);
    hub.committed(shared('Other'));
    expect(await phone.next()).toEqual(changed('Other'));
  });

  it('[EVENT-10] after a hint, the next page begins before its own commit', async () => {
    const partition = new LivePartition();
    const { hub, listen } = await openHub({ readLivePage: partition.read });
    const phone = await listen('anna/phone', '*');
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(live(0, 1));
    const { partition: key, cause } = partition.commit();
    hub.committed({ partition: key, cause });
    expect(await phone.next()).toEqual(changed('Product'));
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(live(2, 3));
    partition.head++;
    await hub.pullAll();
    expect((await phone.next())?.name).toBe('pull');
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(live(4, 5));
  });

  it('[EVENT-11] a device whose token has ended gets no page, also if it ended while the page was read', async () => {
    const partition = new LivePartition();
    const good = new Set(['token of phone', 'token of tablet']);
    const { hub, listen } = await openHub({
      readLivePage: partition.read,
      bearers: { isGood: async (id) => good.has(id) },
    });
    const [phone, tablet] = [await listen('anna/phone', '*'), await listen('anna/tablet', '*')];
    partition.onRead = () => void good.delete('token of phone');
    hub.committed(partition.commit());
    expect(await tablet.next()).toEqual(live(0, 1));
    expect(await phone.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
  });

  it('[EVENT-12] a page that is too large, cannot be read, or cannot be allowed is replaced by a hint', async () => {
    const partition = new LivePartition();
    let isStoreDown = false;
    const isGood = async () => {
      if (isStoreDown) throw new Error('no answer');
      return true;
    };
    const { hub, listen } = await openHub({
      bearers: { isGood },
      readLivePage: async (key, range) => {
        if (range.upTo === 1) return null;
        if (range.upTo === 2) throw new Error('no answer');
        return partition.read(key, range);
      },
    });
    const phone = await listen('anna/phone', '*');
    for (let count = 0; count < 2; count++) {
      hub.committed(partition.commit());
      expect(await phone.next()).toEqual(changed('Product'));
    }
    isStoreDown = true;
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(changed('Product'));
    isStoreDown = false;
    hub.committed(partition.commit());
    expect(await phone.next()).toEqual(live(3, 4));
  });

  it('[EVENT-12] a device that has not read everything gets hints instead of pages', async () => {
    const partition = new LivePartition();
    const { hub, listen } = await openHub({ readLivePage: partition.read });
    const phone = await listen('anna/phone', '*');
    phone.pause();
    const ping = { ping_id: 'p', message: 'x'.repeat(4_000) };
    while (hub.ping('phone', ping)) await new Promise((resolve) => setImmediate(resolve));
    hub.committed(partition.commit());
    phone.resume();
    for (let event = await phone.next(); event?.name !== 'pull'; event = await phone.next()) {
      expect(event?.name).toBe('ping');
    }
  });
});

describe('a connection', () => {
  it('[EVENT-5] a stream ends with its reason when the same device connects again', async () => {
    const { hub, listen } = await openHub();
    const older = await listen('anna/phone');
    const newer = await listen('anna/phone');
    expect(await older.rest()).toEqual([{ name: 'ended', data: { code: 'replaced' } }]);
    hub.committed(shared('Product'));
    expect(await newer.next()).toEqual(changed('Product'));
    expect(hub.size).toBe(1);
  });

  it('[EVENT-6] a stream has heartbeats, and ends when its token does', async () => {
    const good = new Set(['token of phone', 'token of tablet']);
    const { listen } = await openHub({ heartbeatMs: 25, bearers: { isGood: async (id) => good.has(id) } });
    const [phone, tablet] = [await listen('anna/phone'), await listen('anna/tablet')];
    await Promise.all([phone.heartbeats(3), tablet.heartbeats(3)]);
    good.delete('token of phone');
    expect(await phone.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
    await tablet.heartbeats(10);
  });

  it('[EVENT-6] a stream survives a store that does not answer for a while', async () => {
    let failures = 3;
    const isGood = async () => {
      if (failures-- > 0) throw new Error('no answer');
      return true;
    };
    const { listen } = await openHub({ heartbeatMs: 25, bearers: { isGood } });
    await (await listen('anna/phone')).heartbeats(2);
  });

  it('[EVENT-6] a stream ends at once when the device signs out', async () => {
    const { hub, listen } = await openHub();
    const phone = await listen('anna/phone');
    hub.signOut('tablet');
    hub.signOut('phone');
    expect(await phone.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
  });

  it('[EVENT-6] tokens of listening devices are checked at once when those of one or all users may have ended', async () => {
    const looked: string[] = [];
    const bad = new Set(['token of phone', 'token of pc']);
    const isGood = async (id: string) => {
      looked.push(id);
      return !bad.has(id);
    };
    const { hub, listen } = await openHub({ bearers: { isGood } });
    const [phone, tablet, pc] = [await listen('anna/phone'), await listen('anna/tablet'), await listen('bob/pc')];
    await hub.recheck('anna');
    expect(await phone.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
    expect(looked).toEqual(['token of phone', 'token of tablet']);
    await Promise.all([hub.recheck('anna'), hub.recheck('bob'), hub.recheck(null)]);
    expect(await pc.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
    await hub.pullAll();
    expect(await tablet.next()).toEqual({ name: 'pull', data: {} });
  });

  it('[MANY-4] a stream ends when the device has listened elsewhere since, and not when it did so before', async () => {
    const { hub, listen } = await openHub({ clock: { nowMs: () => 1_000 } });
    const phone = await listen('anna/phone');
    hub.replaced('phone', 999);
    hub.replaced('tablet', 2_000);
    hub.committed(shared('Product'));
    expect(await phone.next()).toEqual(changed('Product'));
    hub.replaced('phone', 1_001);
    expect(await phone.rest()).toEqual([{ name: 'ended', data: { code: 'replaced' } }]);
  });

  it('[CLOCK-1] a connection made while the clock was ahead ends when the device listens elsewhere', async () => {
    const { hub, listen } = await openHub({ clock: { nowMs: () => 86_400_000 } });
    const phone = await listen('ada/phone');
    hub.replaced('phone', 1_000);
    expect(await phone.rest()).toEqual([{ name: 'ended', data: { code: 'replaced' } }]);
  });

  it('[EVENT-7] a device that falls behind receives nothing, and an event to pull everything once it has caught up', async () => {
    const { hub, listen } = await openHub();
    const phone = await listen('anna/phone');
    phone.pause();
    const ping = { ping_id: 'p', message: 'x'.repeat(4_000) };
    let sentCount = 0;
    // Until the buffers between both ends are full.
    while (hub.ping('phone', ping)) if (++sentCount % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(hub.ping('phone', ping)).toBe(false);
    hub.committed(shared('Product'));
    phone.resume();
    for (let count = 0; count < sentCount; count++) expect((await phone.next())?.name).toBe('ping');
    expect(await phone.next()).toEqual({ name: 'pull', data: {} });
    hub.committed(shared('Later'));
    expect((await phone.next())?.name).toMatch(/^(?:changed|pull)$/);
  });

  it('[EVENT-7] a device that never reads is cut off', async () => {
    const { hub, listen } = await openHub({ heartbeatMs: 25 });
    const phone = await listen('anna/phone');
    phone.pause();
    while (hub.ping('phone', { ping_id: 'p', message: 'x'.repeat(4_000) })) {
      await new Promise((resolve) => setImmediate(resolve));
    }
    while (hub.size > 0) await new Promise((resolve) => setImmediate(resolve));
    expect(hub.size).toBe(0);
  });

  it('[EVENT-8] a stream is refused when there are too many, except to a device that has one', async () => {
    const { hub, listen } = await openHub({ streamsMax: 2 });
    const phone = { user: 'anna', client: 'phone', tokenHash: 't' };
    await listen('anna/phone');
    const tablet = await listen('anna/tablet');
    expect(() => hub.requireRoom({ ...phone, client: 'third' })).toThrow(/2 devices are listening already/);
    expect(() => hub.requireRoom(phone)).not.toThrow();
    tablet.close();
    while (hub.size === 2) await new Promise((resolve) => setImmediate(resolve));
    expect(() => hub.requireRoom({ ...phone, client: 'third' })).not.toThrow();
  });

  it('[HARD-72] the devices of one user get only their share of the streams', async () => {
    const { hub, listen } = await openHub({ streamsPerUserMax: 2 });
    const third = { user: 'anna', client: 'third', tokenHash: 't' };
    await listen('anna/phone');
    const tablet = await listen('anna/tablet');
    expect(() => hub.requireRoom(third)).toThrow(/2 devices of the user are listening already/);
    expect(() => hub.requireRoom({ ...third, client: 'phone' })).not.toThrow();
    expect(() => hub.requireRoom({ ...third, user: 'bob' })).not.toThrow();
    tablet.close();
    while (hub.size === 2) await new Promise((resolve) => setImmediate(resolve));
    expect(() => hub.requireRoom(third)).not.toThrow();
  });

  it('[EVENT-9] streams end when the server stops, and no new one is accepted', async () => {
    const { hub, listen } = await openHub();
    const readers = [await listen('anna/phone'), await listen('bob/pc')];
    hub.close();
    for (const reader of readers) expect(await reader.rest()).toEqual([]);
    expect(() => hub.requireRoom({ user: 'anna', client: 'phone', tokenHash: 't' })).toThrow(/stopping/);
    hub.committed(shared('Product'));
    expect(hub.ping('phone', { ping_id: 'p' })).toBe(false);
  });
});
