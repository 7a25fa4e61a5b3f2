import type { Device } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { PAUSE_MS_MAX, POLL_MS_DEFAULT, REQUEST_MS_MAX } from '../limits.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const push = (objects: Record<string, Record<string, unknown>>, source = 'Order') =>
  fixture.tidemark.objects.push({ source, user_id: 'ada', objects });

const synced = async (options: Parameters<DeviceFixture['open']>[0] = {}) => {
  const device = await fixture.open(options);
  await fixture.finish(device.sync());
  return device;
};

const status = (device: Device) => device.status.getSnapshot();
const down = () => Promise.reject(new TypeError('fetch failed'));

describe('failures', () => {
  it('[NET-1] failed calls are retried with pauses that grow and vary', async () => {
    const device = await synced();
    fixture.intercept = down;
    const pauses: number[] = [];
    device.status.subscribe(() => {
      const { retryAtMs } = status(device);
      if (retryAtMs !== null) pauses.push(retryAtMs - fixture.platform.nowMs());
    });
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'unreachable' });
    await fixture.platform.until(() => pauses.length >= 12);
    for (const [index, pause] of pauses.entries())
      expect(pause).toBeLessThanOrEqual(Math.min(1_000 * 2 ** index, PAUSE_MS_MAX));
    expect(Math.max(...pauses)).toBeGreaterThan(5_000);
    expect(new Set(pauses).size).toBeGreaterThan(10);
    await push({ 1: { a: 1 } });
    fixture.intercept = () => undefined;
    await fixture.platform.until(() => device.source('Order').list().length === 1);
    expect(status(device)).toMatchObject({ error: null, retryAtMs: null });
  });

  it('[NET-1] a device respects the Retry-After of the server', async () => {
    const device = await synced();
    for (const [header, atLeastMs] of [
      [() => '120', 120_000],
      [() => new Date(fixture.platform.nowMs() + 90_000).toUTCString(), 89_000],
    ] as const) {
      fixture.intercept = () => {
        const headers = { 'retry-after': header() };
        return Promise.resolve(Response.json({ code: 'overloaded', detail: 'later' }, { status: 503, headers }));
      };
      await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'overloaded', status: 503 });
      const failedAtMs = fixture.platform.nowMs();
      const { retryAtMs } = status(device);
      expect((retryAtMs ?? 0) - failedAtMs).toBeGreaterThanOrEqual(atLeastMs);
      let askedAtMs: number | null = null;
      fixture.intercept = () => {
        askedAtMs ??= fixture.platform.nowMs();
        return undefined;
      };
      // Also when the app calls `sync`.
      await fixture.finish(device.sync());
      expect(askedAtMs).toBe(retryAtMs);
    }
  });

  it('[NET-2] a request that is not answered is given up', async () => {
    const device = await synced();
    fixture.intercept = (_, __, init) => fixture.platform.hang(init);
    const beganMs = fixture.platform.nowMs();
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'unreachable' });
    expect(fixture.platform.nowMs() - beganMs).toBe(REQUEST_MS_MAX);
  });

  it('[NET-2] a request whose answer stops in the middle is given up', async () => {
    const device = await synced();
    fixture.intercept = ({ path }, _, init) => {
      if (path !== '/pull') return undefined;
      const body = new ReadableStream({
        start: (controller) => {
          controller.enqueue(new TextEncoder().encode('{"sources":'));
          init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
        },
      });
      return Promise.resolve(new Response(body));
    };
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'unreachable' });
  });

  it('[NET-3] sync() can be aborted, and the device continues', async () => {
    const device = await synced();
    await push({ 1: { a: 1 } });
    let answer: () => void = () => undefined;
    fixture.intercept = ({ path }, go) =>
      path !== '/pull'
        ? undefined
        : new Promise((resolve) => {
            answer = () => resolve(go());
          });
    const controller = new AbortController();
    const waiting = device.sync({ signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'aborted' });
    await expect(device.sync({ signal: controller.signal })).rejects.toMatchObject({ code: 'aborted' });
    await fixture.platform.until(() => {
      answer();
      return device.source('Order').list().length === 1;
    });
  });
});

describe('sync()', () => {
  it('[NET-4] sync() is not satisfied by a pull that began before the call', async () => {
    const device = await synced();
    let pulls = 0;
    let release: () => void = () => undefined;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/pull' || ++pulls > 1) return undefined;
      return go().then(
        (response) =>
          new Promise((resolve) => {
            release = () => resolve(response);
          }),
      );
    };
    const first = device.sync();
    await fixture.platform.until(() => pulls === 1);
    // The page was made before this push.
    await new Promise((resolve) => setImmediate(resolve));
    await push({ 1: { a: 1 } });
    const second = device.sync();
    const beganMs = fixture.platform.nowMs();
    release();
    await fixture.finish(second);
    await first;
    // It did not wait for the next poll.
    expect(fixture.platform.nowMs()).toBe(beganMs);
    expect(device.source('Order').get('1')).toBeDefined();
  });

  it('[NET-4] concurrent calls of sync() share the work', async () => {
    const device = await synced();
    const before = fixture.sync.log.length;
    await fixture.finish(Promise.all([device.sync(), device.sync(), device.sync()]));
    expect(fixture.sync.log.slice(before).map(({ path }) => path)).toEqual(['/sources', '/pull']);
  });
});

describe('the network', () => {
  it('[NET-5] nothing is sent while the platform reports offline, and everything afterwards', async () => {
    const device = await synced();
    fixture.platform.setOnline(false);
    expect(status(device)).toMatchObject({ mode: 'offline', isOnline: false });
    const before = fixture.sync.log.length;
    await device.source('Order').create({ a: 1 });
    await fixture.platform.advance(10 * POLL_MS_DEFAULT);
    expect(fixture.sync.log).toHaveLength(before);
    fixture.platform.setOnline(true);
    await fixture.platform.until(() => status(device).pendingUploads === 0);
  });

  it('[NET-5] the app can switch the network use off and on', async () => {
    const device = await synced();
    device.goOffline();
    expect(status(device).mode).toBe('offline');
    fixture.platform.setOnline(true);
    expect(status(device).mode).toBe('offline');
    device.goOnline();
    await fixture.finish(device.sync());
    expect(status(device)).toMatchObject({ mode: 'idle', isOnline: true });
  });

  it('[NET-5] work interrupted by a loss of the network is repeated when it is back', async () => {
    const device = await synced();
    let isCut = true;
    fixture.intercept = ({ path }, go) =>
      path === '/push' && isCut
        ? go().then(() => {
            fixture.platform.setOnline(false);
            return down();
          })
        : undefined;
    await device.source('Order').create({ a: 1 }, { id: 'o' });
    await fixture.platform.until(() => status(device).mode === 'offline');
    isCut = false;
    fixture.platform.setOnline(true);
    await fixture.platform.until(() => status(device).pendingUploads === 0 && status(device).mode === 'idle');
    expect(device.problems.list()).toEqual([]);
  });
});

describe('hearing of changes', () => {
  it('[NET-6] a change announced by the event stream is pulled, and only its source', async () => {
    const device = await synced({ live: true });
    await fixture.platform.until(() => status(device).isLive && status(device).mode === 'idle');
    const before = fixture.sync.log.length;
    await push({ 1: { a: 1 } });
    await fixture.platform.until(() => device.source('Order').list().length === 1);
    const sources = { Order: { token: expect.any(String) } };
    expect(fixture.sync.log.slice(before)).toMatchObject([
      { path: '/pull', body: expect.objectContaining({ sources }) },
    ]);
  });

  it('[NET-6] a change announced during a pull is pulled afterwards', async () => {
    const device = await synced({ live: true });
    await fixture.platform.until(() => status(device).isLive && status(device).mode === 'idle');
    let pulls = 0;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/pull' || ++pulls > 1) return undefined;
      // The change is announced after the page was made, and before it arrives.
      return go().then(async (response) => {
        await push({ late: { a: 1 } });
        for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
        return response;
      });
    };
    await push({ early: { a: 1 } });
    const beganMs = fixture.platform.nowMs();
    await fixture.platform.until(() => device.source('Order').list().length === 2);
    expect([pulls, fixture.platform.nowMs()]).toEqual([2, beganMs]);
  });

  it('[NET-6] an event stream that falls silent or breaks is reopened, and missed changes are pulled', async () => {
    const device = await synced({ live: true });
    await fixture.platform.until(() => status(device).isLive);
    // Without heartbeats the device gives the stream up.
    await fixture.platform.until(() => !status(device).isLive);
    await push({ 1: { a: 1 } });
    await fixture.platform.until(() => status(device).isLive);
    await fixture.platform.until(() => device.source('Order').list().length === 1);
    expect(fixture.sync.count('/events')).toBe(2);
  });

  it('[NET-6] sync() reopens an event stream that waits after failures, unless the server asked for the pause', async () => {
    for (const headers of [{}, { 'retry-after': '600' }]) {
      fixture = await newDeviceFixture();
      fixture.intercept = ({ path }) =>
        path === '/events' ? Promise.resolve(new Response(null, { status: 503, headers })) : undefined;
      const device = await synced({ live: true });
      await fixture.platform.advance(5 * PAUSE_MS_MAX);
      fixture.intercept = () => undefined;
      await fixture.finish(device.sync());
      const calledMs = fixture.platform.nowMs();
      await fixture.platform.until(() => status(device).isLive);
      expect(fixture.platform.nowMs() === calledMs).toBe(!('retry-after' in headers));
    }
  });

  it('[NET-6] without event streams the device polls', async () => {
    for (const live of [false, true]) {
      fixture = await newDeviceFixture();
      fixture.intercept = ({ path }) =>
        path === '/events' ? Promise.resolve(new Response(null, { status: 404 })) : undefined;
      const device = await synced({ live });
      const beganMs = fixture.platform.nowMs();
      await push({ 1: { a: 1 } });
      await fixture.platform.until(() => device.source('Order').list().length === 1);
      expect(fixture.platform.nowMs() - beganMs).toBeLessThanOrEqual(POLL_MS_DEFAULT * 1.25);
    }
  });

  it('[NET-6] where answers cannot be streamed, as in React Native, the device polls', async () => {
    fixture.intercept = ({ path }) => {
      if (path !== '/events') return undefined;
      const bodiless = Object.defineProperty(new Response('event: ready\ndata: {}\n\n'), 'body', { value: null });
      return Promise.resolve(bodiless);
    };
    const device = await synced({ live: true });
    await push({ 1: { a: 1 } });
    await fixture.platform.until(() => device.source('Order').list().length === 1);
    expect([status(device).isLive, fixture.sync.count('/events')]).toEqual([false, 0]);
  });

  it('[NET-6] a device whose stream was replaced by another listener waits before it listens again', async () => {
    const text = 'event: ready\ndata: {"heartbeat_s":30}\n\nevent: ended\ndata: {"code":"replaced"}\n\n';
    let opened = 0;
    fixture.intercept = ({ path }) => {
      if (path !== '/events') return undefined;
      opened++;
      return Promise.resolve(new Response(text));
    };
    const device = await synced({ live: true });
    await fixture.platform.advance(10 * POLL_MS_DEFAULT);
    expect([opened, status(device).isLive]).toEqual([1, false]);
    await fixture.platform.until(() => opened === 2);
  });

  it('[NET-7] pings reach the app, and the sources they name are pulled', async () => {
    const events = [
      'event: ready\ndata: {"heartbeat_s":30}\n\n',
      ': a comment\n\n',
      'event: ping\ndata: {"ping_id":"p","message":"Lunch","sources":["Order"]}\n\n',
      'event: nonsense\ndata: {\n\n',
      'event: outcomes\ndata: {}\n\n',
    ].join('');
    fixture.intercept = ({ path }, _, init) => {
      if (path !== '/events') return undefined;
      const stream = new ReadableStream({
        start: (controller) => {
          for (const byte of new TextEncoder().encode(events)) controller.enqueue(Uint8Array.of(byte));
          init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason));
        },
      });
      return Promise.resolve(new Response(stream));
    };
    const device = await fixture.open({ live: true, user: null });
    const pings: unknown[] = [];
    device.on('ping', (ping) => pings.push(ping));
    await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
    await fixture.platform.until(() => pings.length > 0);
    expect(pings[0]).toEqual({ ping_id: 'p', message: 'Lunch', sources: ['Order'] });
  });
});

describe('the status', () => {
  it('[NET-8] the status stays the same value until something changes, and its listeners learn of every change', async () => {
    const device = await fixture.open({ user: null });
    const modes: string[] = [];
    device.status.subscribe(() => modes.push(status(device).mode));
    expect(status(device)).toBe(status(device));
    await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
    await fixture.finish(device.sync());
    await fixture.platform.until(() => status(device).mode === 'idle');
    expect([...new Set(modes)]).toEqual(['signed_out', 'pushing', 'pulling', 'idle']);
    expect(status(device)).toMatchObject({ userId: 'ada', lastSyncedAtMs: fixture.platform.nowMs(), isSyncing: false });
    await fixture.finish(device.close());
    expect(status(device).mode).toBe('stopped');
  });

  it('[NET-8] a listener that throws has no effect on others, and a removed one is not called', async () => {
    const device = await synced();
    const thrown: unknown[] = [];
    const others = process.listeners('uncaughtException');
    process.removeAllListeners('uncaughtException');
    process.on('uncaughtException', (error) => thrown.push(error));
    onTestFinished(() => {
      process.removeAllListeners('uncaughtException');
      for (const listener of others) process.on('uncaughtException', listener);
    });
    let calls = 0;
    device.source('Order').subscribe(() => {
      throw new Error('a bug of the app');
    });
    const leave = device.source('Order').subscribe(() => calls++);
    await device.source('Order').create({ a: 1 });
    leave();
    await fixture.finish(device.sync());
    expect([calls, thrown[0]]).toEqual([1, new Error('a bug of the app')]);
  });
});
