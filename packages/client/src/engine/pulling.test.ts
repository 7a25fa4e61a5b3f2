import type { Device } from '@tidemark/client';
import type { Page, PullAnswer, PullRequest } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { LocalRow, LocalStore } from '../ports/local-store.ts';
import { memoryStore } from '../stores/memory-store.ts';

const PAGE = 3;

const many = (count: number, from = 0, n = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${from + index}`, { n, of: from + index }]));

const push = (fixture: DeviceFixture, objects: Record<string, Record<string, unknown>>, source = 'Order') =>
  fixture.tidemark.objects.push({ source, user_id: 'ada', objects });

const seen = (device: Device, source = 'Order') =>
  Object.fromEntries(
    device
      .source(source)
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );

const onServer = async (fixture: DeviceFixture, source = 'Order') =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source, user_id: 'ada' }));

const signIn = (device: Device) => device.signIn({ login: 'ada', password: 'long enough' });

/** Lets the test change the answers to pulls. */
function onPull(fixture: DeviceFixture, change: (answer: PullAnswer, count: number) => PullAnswer | 'lost'): void {
  let count = 0;
  fixture.intercept = ({ path }, go) => {
    if (path !== '/pull') return undefined;
    return go().then(async (response) => {
      const changed = change((await response.json()) as PullAnswer, ++count);
      if (changed === 'lost') throw new TypeError('the connection broke');
      return Response.json(changed);
    });
  };
}

const orderPage = (answer: PullAnswer) => answer.sources.Order as Page;
const withPage = (answer: PullAnswer, change: Partial<Page>): PullAnswer => ({
  ...answer,
  sources: { ...answer.sources, Order: { ...orderPage(answer), ...change } },
});

/** A store that the test can inspect, and that outlives its device. */
function openStore(rows: readonly LocalRow[] = []): LocalStore & { commits: number } {
  const kept = memoryStore(rows);
  const store = {
    commits: 0,
    load: () => kept.load(),
    commit: (writes: Parameters<LocalStore['commit']>[0]) => {
      store.commits++;
      return kept.commit(writes);
    },
    close: async () => undefined,
  };
  return store;
}

describe('pages', () => {
  for (const count of [0, 1, PAGE - 1, PAGE, PAGE + 1, 2 * PAGE + 1]) {
    it(`[SDK-5] ${count} objects in pages of ${PAGE} need at most two pulls more than the pages they fill`, async () => {
      const fixture = await newDeviceFixture();
      await push(fixture, many(count));
      const device = await fixture.open({ pageObjects: PAGE, sources: ['Order'] });
      await fixture.finish(device.sync());
      expect(seen(device)).toEqual(await onServer(fixture));
      expect(fixture.sync.count('/pull')).toBeLessThanOrEqual(Math.ceil(count / PAGE) + 2);
      await push(fixture, many(count, 0, 1));
      const before = fixture.sync.count('/pull');
      await fixture.finish(device.sync());
      expect(seen(device)).toEqual(many(count, 0, 1));
      expect(fixture.sync.count('/pull') - before).toBeLessThanOrEqual(Math.ceil(count / PAGE) + 2);
    });
  }

  it('[SDK-5] the page size may change between two pages', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(11));
    const sizes = [1, 4, 2, 3, 1];
    fixture.intercept = ({ path, body }, _, init) => {
      if (path !== '/pull') return undefined;
      const max_objects = sizes[fixture.sync.count('/pull')] ?? 5;
      return fixture.sync.fetch(`http://t/sync/v1${path}`, {
        ...init,
        body: JSON.stringify({ ...(body as PullRequest), max_objects }),
      });
    };
    const device = await fixture.open({ sources: ['Order'] });
    await fixture.finish(device.sync());
    expect(seen(device)).toEqual(many(11));
  });

  it('[SDK-5] any page may be lost once', async () => {
    for (let lost = 1; lost <= 4; lost++) {
      const fixture = await newDeviceFixture();
      await push(fixture, many(10));
      onPull(fixture, (answer, count) => (count === lost ? 'lost' : answer));
      const device = await fixture.open({ pageObjects: PAGE, sources: ['Order'] });
      await fixture.finish(device.sync().catch(() => device.sync()));
      expect(seen(device)).toEqual(many(10));
      expect(fixture.sync.count('/pull')).toBeLessThanOrEqual(Math.ceil(10 / PAGE) + 2);
    }
  });
});

describe('what the app sees', () => {
  it('[SDK-6] the app sees one complete state after the other, however many pages are between them', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(7));
    const device = await fixture.open({ pageObjects: 2, sources: ['Order'], user: null });
    const states: unknown[] = [];
    device.source('Order').subscribe(() => states.push(seen(device)));
    await fixture.finish(signIn(device));
    await fixture.finish(device.sync());
    await push(fixture, many(7, 0, 1));
    await fixture.finish(device.sync());
    expect(states).toEqual([many(7), many(7, 0, 1)]);
  });

  it('[SDK-6] the app sees the old state if the process dies between pages, and the catch-up continues', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(4));
    const store = openStore();
    const first = await fixture.open({ pageObjects: 2, sources: ['Order'], store });
    await fixture.finish(first.sync());
    await push(fixture, many(9, 0, 1));
    let isDown = false;
    onPull(fixture, (answer, count) => {
      isDown ||= count > 2;
      return isDown ? 'lost' : answer;
    });
    await expect(fixture.finish(first.sync())).rejects.toMatchObject({ code: 'unreachable' });
    expect(seen(first)).toEqual(many(4));
    await first.close();
    fixture.intercept = () => undefined;
    const second = await fixture.open({ pageObjects: 2, sources: ['Order'], store, user: null });
    expect(seen(second)).toEqual(many(4));
    const before = fixture.sync.count('/pull');
    await fixture.finish(second.sync());
    expect(seen(second)).toEqual(many(9, 0, 1));
    expect(fixture.sync.count('/pull') - before).toBe(3);
  });

  it('[SDK-6] sources that become complete with one answer change together', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    await push(fixture, many(2), 'Product');
    const device = await fixture.open({ user: null });
    const counts: unknown[] = [];
    for (const name of ['Order', 'Product']) {
      const look = () => counts.push([device.source('Order').list().length, device.source('Product').list().length]);
      device.source(name).subscribe(look);
    }
    await fixture.finish(signIn(device));
    await fixture.finish(device.sync());
    expect(counts).toEqual([
      [2, 2],
      [2, 2],
    ]);
  });

  it('[SDK-6] a pull without changes writes nothing to the store', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    const store = openStore();
    const device = await fixture.open({ store });
    await fixture.finish(device.sync());
    const before = store.commits;
    await fixture.finish(device.sync());
    expect(store.commits).toBe(before);
  });
});

describe('starting over', () => {
  it('[SDK-7] after a server lost the data of a source the device gets everything again, and other objects are deleted', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(5));
    const device = await fixture.open({ pageObjects: 2 });
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.drop('Order');
    await fixture.tidemark.sources.declare({ name: 'Order', partition_type: 'user' });
    await push(fixture, many(3, 3, 1));
    const states: unknown[] = [];
    device.source('Order').subscribe(() => states.push(seen(device)));
    await fixture.finish(device.sync());
    expect(states).toEqual([many(3, 3, 1)]);
  });

  it('[SDK-8] a device whose objects differ from the server’s detects it by the checksum and repairs itself', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(4));
    const store = openStore();
    const first = await fixture.open({ store });
    await fixture.finish(first.sync());
    await first.close();
    const rows = await store.load();
    const damaged = rows.map((row) =>
      row.table === 'objects' && row.key[1] === 'o1' ? { ...row, value: { n: 'damaged' } } : row,
    );
    const device = await fixture.open({ store: memoryStore(damaged), user: null });
    const healed: unknown[] = [];
    device.on('healed', (event) => healed.push(event));
    await push(fixture, { o1: { more: 1 } });
    const isHealed = new Promise<void>((resolve) => device.on('healed', () => resolve()));
    // The stored objects are verified after the first pull, without another one.
    onPull(fixture, (answer, count) => (count > 1 && healed.length === 0 ? 'lost' : answer));
    await fixture.finish(device.sync());
    await fixture.finish(isHealed);
    await fixture.finish(device.sync());
    expect(seen(device)).toEqual(await onServer(fixture));
    expect(device.status.getSnapshot()).toMatchObject({ heals: 1, error: null });
    expect(healed).toEqual([{ source: 'Order', reason: expect.stringContaining('checksum') }]);
  });

  it('[METRICS-5] a device tells once that it starts over because its objects did not match', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    const asked: unknown[] = [];
    let pulls = 0;
    fixture.intercept = ({ path }, go, init) => {
      if (path !== '/pull') return undefined;
      asked.push((JSON.parse(String(init?.body)) as PullRequest).sources.Order);
      return go().then(async (response) => {
        const answer = (await response.json()) as PullAnswer;
        return Response.json(++pulls === 1 ? withPage(answer, { checksum: 1 }) : answer);
      });
    };
    const device = await fixture.open({ sources: ['Order'] });
    await fixture.finish(device.sync());
    await fixture.finish(device.sync());
    const told = { token: expect.any(String) };
    expect(asked.slice(0, 3)).toEqual([{}, { mismatch: true }, told]);
    expect(device.status.getSnapshot().heals).toBe(1);
  });

  it('[SDK-8] the app keeps its view while the device starts over', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(5));
    const device = await fixture.open({ sources: ['Order'], pageObjects: 2 });
    await fixture.finish(device.sync());
    const sizes: number[] = [];
    device.source('Order').subscribe(() => sizes.push(device.source('Order').list().length));
    await push(fixture, { o9: { n: 9 } });
    onPull(fixture, (answer, count) => (count === 1 ? withPage(answer, { checksum: 1 }) : answer));
    await fixture.finish(device.sync());
    expect(sizes).toEqual([6]);
  });

  it('[SDK-8] a wrong size and a change of an unknown object count as differences, too', async () => {
    for (const change of [{ size: 99 }, { patch: { nowhere: { a: 1 } } }, { drop: { nowhere: ['a'] } }]) {
      const fixture = await newDeviceFixture();
      await push(fixture, many(2));
      const device = await fixture.open({ sources: ['Order'] });
      await fixture.finish(device.sync());
      onPull(fixture, (answer, count) => (count === 1 ? withPage(answer, change) : answer));
      await push(fixture, { o9: { n: 9 } });
      await fixture.finish(device.sync());
      expect([seen(device), device.status.getSnapshot().heals]).toEqual([await onServer(fixture), 1]);
    }
  });

  it('[SDK-8] if starting over does not help, the device pauses', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    onPull(fixture, (answer) => withPage(answer, { checksum: 1 }));
    const device = await fixture.open({ sources: ['Order'] });
    await fixture.platform.until(() => device.status.getSnapshot().mode === 'backing_off');
    expect(fixture.sync.count('/pull')).toBe(2);
    expect(device.status.getSnapshot()).toMatchObject({ heals: 2, error: { code: 'bad_answer' } });
    expect(seen(device)).toEqual({});
  });
});

describe('snapshots', () => {
  it('[SDK-9] sources that are only available as snapshots are read as such', async () => {
    const fixture = await newDeviceFixture({ limits: { pageObjectsMax: 2, lineObjectsMax: 2 } });
    await fixture.tidemark.sources.declare({ name: 'Bulk', partition_type: 'user', sync_type: 'bulk_only' });
    await push(fixture, many(5), 'Bulk');
    const device = await fixture.open();
    await fixture.finish(device.sync());
    expect(seen(device, 'Bulk')).toEqual(many(5));
    await push(fixture, many(1, 0, 1), 'Bulk');
    await fixture.finish(device.sync());
    expect(seen(device, 'Bulk')).toEqual({ ...many(5), ...many(1, 0, 1) });
  });

  it('[SDK-9] an interrupted snapshot continues after the last complete line, also after a restart', async () => {
    const fixture = await newDeviceFixture({ limits: { pageObjectsMax: 2, lineObjectsMax: 2 } });
    await fixture.tidemark.sources.declare({ name: 'Bulk', partition_type: 'user', sync_type: 'bulk_only' });
    await push(fixture, many(7), 'Bulk');
    const asked: (string | null)[] = [];
    let isCut = true;
    const cut = async (response: Response) => {
      const text = await response.text();
      if (isCut && asked.length > 2) throw new TypeError('the connection broke');
      return new Response(isCut ? text.slice(0, text.indexOf('\n') + 20) : text);
    };
    fixture.intercept = ({ path }, go) => (path.endsWith('/snapshot') ? go().then(cut) : undefined);
    const fetchAsked = fixture.sync.fetch;
    Object.assign(fixture.sync, {
      fetch: (url: string, init: RequestInit) => {
        if (url.includes('/snapshot')) asked.push(new URL(url).searchParams.get('token'));
        return fetchAsked(url, init);
      },
    });
    const store = openStore();
    const first = await fixture.open({ store, sources: ['Bulk'], user: null });
    const signedIn = signIn(first);
    await fixture.platform.until(() => first.status.getSnapshot().mode === 'backing_off');
    await signedIn;
    await first.close();
    expect(seen(first, 'Bulk')).toEqual({});
    isCut = false;
    const second = await fixture.open({ store, sources: ['Bulk'], user: null });
    await fixture.finish(second.sync());
    expect(seen(second, 'Bulk')).toEqual(many(7));
    expect(asked[0]).toBeNull();
    expect(asked.at(-1)).not.toBeNull();
  });

  it('[SDK-9] a large first sync continues as a snapshot, and in pages if the server has none', async () => {
    for (const hasStreams of [true, false]) {
      const fixture = await newDeviceFixture({ limits: { pageObjectsMax: 500 } });
      await push(fixture, many(2_600));
      if (!hasStreams) {
        fixture.intercept = ({ path }) =>
          path.endsWith('/snapshot') ? Promise.resolve(new Response('', { status: 404 })) : undefined;
      }
      const device = await fixture.open({ sources: ['Order'] });
      await fixture.platform.until(() => device.source('Order').list().length > 0);
      expect(device.source('Order').list()).toHaveLength(2_600);
      expect(fixture.sync.count('/pull')).toBe(hasStreams ? 1 : 6);
    }
  });
});

describe('many sources', () => {
  it('[SDK-10] more sources than one pull may carry are pulled, also if one of them fails', async () => {
    const fixture = await newDeviceFixture();
    for (let index = 0; index < 120; index++)
      await fixture.tidemark.sources.declare({ name: `S${index}`, partition_type: 'user' });
    await push(fixture, many(2), 'S119');
    await push(fixture, many(2), 'S0');
    onPull(fixture, (answer) => {
      const trouble = { error: { code: 'backend_error', detail: 'nobody is at home' } };
      return 'S7' in answer.sources ? { ...answer, sources: { ...answer.sources, S7: trouble } } : answer;
    });
    const device = await fixture.open();
    await fixture.finish(device.sync());
    expect([seen(device, 'S0'), seen(device, 'S119')]).toEqual([many(2), many(2)]);
    expect([...device.status.getSnapshot().sourceTroubles]).toEqual([
      ['S7', { code: 'backend_error', detail: 'nobody is at home' }],
    ]);
    expect(device.sourceNames()).toHaveLength(122);
  });

  it('[SDK-10] a removed source is deleted with its objects, and a new one is found', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    const device = await fixture.open();
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.drop('Order');
    await fixture.tidemark.sources.declare({ name: 'Later', partition_type: 'user' });
    await push(fixture, many(1), 'Later');
    await fixture.finish(device.sync());
    await fixture.finish(device.sync());
    expect([seen(device), seen(device, 'Later'), device.sourceNames()]).toEqual([{}, many(1), ['Later', 'Product']]);
  });

  it('[SDK-31] after one sync() a source that was declared meanwhile is there, and one that was dropped is gone', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    const device = await fixture.open();
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.declare({ name: 'Later', partition_type: 'user' });
    await push(fixture, many(1), 'Later');
    await fixture.finish(device.sync());
    expect([seen(device, 'Later'), device.sourceNames()]).toEqual([many(1), ['Later', 'Order', 'Product']]);
    await device.source<Record<string, unknown>>('Later').create({ n: 1 });
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.drop('Order');
    await fixture.finish(device.sync());
    expect([seen(device), device.sourceNames()]).toEqual([{}, ['Later', 'Product']]);
    expect(device.status.getSnapshot()).toMatchObject({ error: null, sourceTroubles: new Map() });
  });

  it('[SDK-31] a source that is declared while the list of sources is read is there after sync()', async () => {
    const fixture = await newDeviceFixture();
    const device = await fixture.open();
    await fixture.finish(device.sync());
    let late: Promise<void> | null = null;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/sources' || late !== null) return undefined;
      return go().then(async (list) => {
        await fixture.tidemark.sources.declare({ name: 'Later', partition_type: 'user' });
        await push(fixture, many(1), 'Later');
        late = device.sync();
        return list;
      });
    };
    const beganAtMs = fixture.platform.nowMs();
    await fixture.finish(device.sync());
    await fixture.finish(late ?? Promise.reject(new Error('the list was not read')));
    expect([device.sourceNames(), seen(device, 'Later')]).toEqual([['Later', 'Order', 'Product'], many(1)]);
    // It does not wait for the next poll, after a minute.
    expect(fixture.platform.nowMs() - beganAtMs).toBeLessThan(10_000);
  });

  it('[SDK-31] a list of sources whose answer was lost is read when the device tries again', async () => {
    const fixture = await newDeviceFixture();
    const device = await fixture.open();
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.declare({ name: 'Later', partition_type: 'user' });
    let isLost = false;
    fixture.intercept = ({ path }) => {
      if (path !== '/sources' || isLost) return undefined;
      isLost = true;
      return Promise.reject(new TypeError('the connection broke'));
    };
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'unreachable' });
    await fixture.platform.until(() => device.status.getSnapshot().mode === 'idle');
    expect(device.sourceNames()).toEqual(['Later', 'Order', 'Product']);
  });

  it('[SDK-31] an event of a source that is not known makes the device read the list of sources', async () => {
    const fixture = await newDeviceFixture();
    const device = await fixture.open({ live: true });
    const isAtRest = () => device.status.getSnapshot().isLive && device.status.getSnapshot().mode === 'idle';
    await fixture.platform.until(isAtRest);
    await fixture.tidemark.sources.declare({ name: 'Later', partition_type: 'user' });
    await push(fixture, many(1), 'Later');
    await fixture.platform.until(() => device.source('Later').list().length === 1);
    expect(seen(device, 'Later')).toEqual(many(1));
  });

  it('[SDK-31] a device that polls removes a source that was dropped with the pull that finds it missing', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    const device = await fixture.open({ pollMs: 10_000 });
    await fixture.finish(device.sync());
    await fixture.tidemark.sources.drop('Order');
    const pulls = fixture.sync.count('/pull');
    await fixture.platform.until(() => fixture.sync.count('/pull') > pulls && !device.status.getSnapshot().isSyncing);
    expect([seen(device), device.sourceNames()]).toEqual([{}, ['Product']]);
  });

  it('[SDK-10] only the sources that the app names are pulled', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    const device = await fixture.open({ sources: ['Product'] });
    await fixture.finish(device.sync());
    expect([seen(device), device.sourceNames()]).toEqual([{}, ['Product']]);
  });
});

describe('invalid answers', () => {
  const wrong: Readonly<Record<string, string>> = {
    'a page of a captive portal': '<html>Welcome to the airport</html>',
    'JSON of somebody else': '{"ok":true}',
    'half an answer': '{"sources":{"Order":{"tok',
    'a page without a token': '{"sources":{"Order":{"more":false,"size":0}},"outcomes":[]}',
    'objects that are none': '{"sources":{"Order":{"token":"t","more":false,"size":0,"put":{"1":7}}},"outcomes":[]}',
    'a page that leads nowhere': '{"sources":{"Order":{"token":"TOKEN","more":true,"size":0}},"outcomes":[]}',
  };
  for (const [name, text] of Object.entries(wrong)) {
    it(`[SDK-11] ${name} changes nothing and is retried later`, async () => {
      const fixture = await newDeviceFixture();
      await push(fixture, many(2));
      const store = openStore();
      const device = await fixture.open({ store, sources: ['Order'] });
      await fixture.finish(device.sync());
      const row = (await store.load()).find(({ table, key }) => table === 'sources' && key[1] === 'Order');
      const { token } = (row?.value ?? {}) as unknown as { token: string };
      await push(fixture, many(3, 0, 1));
      fixture.intercept = ({ path }) =>
        path === '/pull' ? Promise.resolve(new Response(text.replace('TOKEN', token))) : undefined;
      await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'bad_answer' });
      expect(seen(device)).toEqual(many(2));
      expect(device.status.getSnapshot()).toMatchObject({ mode: 'backing_off', error: { code: 'bad_answer' } });
      fixture.intercept = () => undefined;
      await fixture.platform.until(() => device.source('Order').list().length === 3);
      expect(seen(device)).toEqual(many(3, 0, 1));
    });
  }
});

describe('a source whose backend has not answered yet', () => {
  const PENDING = { code: 'refresh_pending', detail: 'the backend has not answered yet', retry_after_s: 5 };

  it('[SDK-17] a source with a pending refresh is no failure: its page is shown, and it is pulled again after the time the server named', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    let isPending = true;
    onPull(fixture, (answer) => (isPending ? withPage(answer, { error: PENDING }) : answer));
    const device = await fixture.open({ sources: ['Order'] });
    let isSynced = false;
    const synced = device.sync().then(() => {
      isSynced = true;
    });
    const isAtRest = () => fixture.sync.count('/pull') > 0 && !device.status.getSnapshot().isSyncing;
    await fixture.platform.until(isAtRest);
    const { error, sourceTroubles, lastSyncedAtMs } = device.status.getSnapshot();
    expect([seen(device), error, sourceTroubles.size, lastSyncedAtMs]).toEqual([many(2), null, 0, null]);
    const [startedMs, pulls] = [fixture.platform.nowMs(), fixture.sync.count('/pull')];
    await fixture.platform.until(() => fixture.sync.count('/pull') === pulls + 2 && isAtRest());
    expect(fixture.platform.nowMs() - startedMs).toBeGreaterThanOrEqual(2 * PENDING.retry_after_s * 1_000);
    expect(isSynced).toBe(false);
    isPending = false;
    await fixture.finish(synced);
    expect(fixture.sync.count('/pull')).toBe(pulls + 3);
  });

  it('[SDK-17] a source with a pending refresh is pulled as soon as an event announces it', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(2));
    onPull(fixture, (answer) =>
      Object.keys(seen(device)).length < 3 && orderPage(answer).size < 3
        ? withPage(answer, { error: PENDING })
        : answer,
    );
    const device = await fixture.open({ sources: ['Order'], live: true, user: null });
    await fixture.finish(signIn(device));
    await fixture.platform.until(() => Object.keys(seen(device)).length === 2);
    const startedMs = fixture.platform.nowMs();
    await push(fixture, many(1, 2));
    await fixture.finish(device.sync());
    expect(Object.keys(seen(device))).toHaveLength(3);
    expect(fixture.platform.nowMs() - startedMs).toBeLessThan(5_000);
  });

  it('[SDK-17] a source stays pending until the last of several pages, and a failure of its backend is reported', async () => {
    const fixture = await newDeviceFixture();
    await push(fixture, many(5));
    const failed = { code: 'backend_timeout', detail: 'too slow' };
    onPull(fixture, (answer, count) => {
      if (count === 1) return withPage(answer, { error: PENDING });
      return count === 4 ? withPage(answer, { error: failed }) : answer;
    });
    const device = await fixture.open({ sources: ['Order'], pageObjects: 2 });
    await fixture.finish(device.sync());
    expect(fixture.sync.count('/pull')).toBe(4);
    expect([...device.status.getSnapshot().sourceTroubles]).toEqual([['Order', failed]]);
  });
});
