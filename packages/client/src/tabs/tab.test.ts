import { type Device, memoryStore, openDevice, type TabFeatures } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture, tabsInMemory } from '@tidemark/testing';
import { expect, it, vi } from 'vitest';

it('[SESSION-8] every tab says why the session ended when it says that the user has to sign in, and says it once', async () => {
  const fixture = await newDeviceFixture();
  const { platform, sync } = fixture;
  const kept = memoryStore();
  const store = { sharedAs: 'one', load: () => kept.load(), commit: kept.commit, close: async () => undefined };
  const shared = {
    tabs: tabsInMemory(),
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const open = () => fixture.finish(openDevice({ url: 'http://tidemark.test', live: false, store, platform: shared }));
  const [leader, follower] = [await open(), await open()];
  await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(follower.sync());
  expect([leader, follower].map(({ status }) => status.getSnapshot().tab)).toEqual(['leader', 'follower']);
  const looks = (device: Device) => {
    const ends: unknown[] = [];
    device.status.subscribe(() => {
      const { mode, sessionEnd } = device.status.getSnapshot();
      if (mode === 'needs_sign_in') ends.push(sessionEnd?.reason ?? null);
    });
    return ends;
  };
  const [ofLeader, ofFollower] = [looks(leader), looks(follower)];
  sync.endSessions('password_changed');
  await expect(fixture.finish(follower.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
  await platform.advance(1_000);
  expect([ofLeader, ofFollower]).toEqual([['password_changed'], ['password_changed']]);
});

it('[TABS-3] a load that fails when the tab has lost the lead does not end the time for which it leads again', async () => {
  const fixture = await newDeviceFixture();
  const kept = memoryStore();
  const loads: { go: () => void; fail: (error: Error) => void }[] = [];
  const load = async () => {
    await new Promise<void>((go, fail) => loads.push({ go, fail }));
    return kept.load();
  };
  const locks: Parameters<NonNullable<TabFeatures['requestLock']>>[1][] = [];
  const tabs: TabFeatures = {
    openChannel: () => ({ post: () => undefined, close: () => undefined }),
    requestLock: (_name, hooks) => {
      locks.push(hooks);
      return () => undefined;
    },
  };
  const store = { sharedAs: 'one', load, commit: kept.commit, close: async () => undefined };
  const { platform } = fixture;
  const shared = {
    tabs,
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const opening = openDevice({ url: 'http://tidemark.test', live: false, store, platform: shared });
  await vi.waitFor(() => expect(locks).toHaveLength(1));
  locks[0]?.onHeld();
  await vi.waitFor(() => expect(loads).toHaveLength(1));
  loads[0]?.go();
  const device = await fixture.finish(opening);
  await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(device.sync());
  for (const time of [1, 2]) {
    locks.at(-1)?.onLost();
    locks.at(-1)?.onHeld();
    await vi.waitFor(() => expect(loads).toHaveLength(1 + time));
  }
  const created = device.source('Order').create({ n: 1 }, { id: 'x' });
  loads[1]?.fail(new Error('the browser has closed the database'));
  await Promise.resolve();
  loads[2]?.go();
  await fixture.finish(created);
  expect(device.status.getSnapshot()).toMatchObject({ tab: 'leader', error: null });
});

/** Opens tabs that share one device; `losing` takes the lead from the tab that has it. Messages that are lost reach no tab. */
function sharedTabs(fixture: DeviceFixture, isLost: (message: unknown) => boolean = () => false) {
  const { platform } = fixture;
  const kept = memoryStore();
  const features = tabsInMemory();
  let lose: () => void = () => undefined;
  const tabs: TabFeatures = {
    openChannel: (name, onMessage) => {
      const { post, close } = features.openChannel(name, onMessage);
      return { post: (message) => isLost(message) || post(message), close };
    },
    requestLock: (name, hooks, isStolen) => {
      const onHeld = () => {
        lose = hooks.onLost;
        hooks.onHeld();
      };
      return features.requestLock?.(name, { ...hooks, onHeld }, isStolen) ?? (() => undefined);
    },
  };
  const shared = {
    tabs,
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const store = { sharedAs: 'one', load: () => kept.load(), commit: kept.commit, close: async () => undefined };
  const open = () => fixture.finish(openDevice({ url: 'http://tidemark.test', live: false, store, platform: shared }));
  return { open, losing: () => lose() };
}

it('[TABS-1] a change in a tab that follows is shown at once over changes of other tabs that wait to be sent', async () => {
  const fixture = await newDeviceFixture();
  const { open } = sharedTabs(fixture);
  const leader = await open();
  await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(leader.sync());
  leader.goOffline();
  await fixture.finish(leader.source('Order').create({ n: 1 }, { id: 'o' }));
  await fixture.finish(leader.source('Order').update('o', { n: 2 }));
  const follower = await open();
  const shown = () => follower.source('Order').get('o')?.attributes;
  expect(shown()).toEqual({ n: 2 });
  const first = follower.source('Order').update('o', { n: 3 });
  expect(shown()).toEqual({ n: 3 });
  await fixture.finish(first);
  await fixture.finish(leader.source('Order').update('o', { n: 4 }));
  expect(shown()).toEqual({ n: 4 });
  const second = follower.source('Order').update('o', { n: 5 });
  expect(shown()).toEqual({ n: 5 });
  await fixture.finish(second);
  expect(leader.source('Order').get('o')?.attributes).toEqual({ n: 5 });
});

it('[TABS-3] a tab that has lost the lead follows, and never says that the device is closed', async () => {
  const fixture = await newDeviceFixture();
  const { open, losing } = sharedTabs(fixture);
  const device = await open();
  await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(device.sync());
  const modes = new Set<string>();
  device.status.subscribe(() => modes.add(device.status.getSnapshot().mode));
  losing();
  expect([[...modes], device.status.getSnapshot().tab]).toEqual([['idle'], 'follower']);
});

it('[TABS-2] a command that the tab which led has begun for another one is done by the tab that leads next', async () => {
  const fixture = await newDeviceFixture();
  const { open, losing } = sharedTabs(fixture);
  const leader = await open();
  await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(leader.sync());
  const [next, follower] = [await open(), await open()];
  let isAsked = false;
  fixture.intercept = ({ path }) => {
    if (path !== '/pull') return undefined;
    isAsked = true;
    return new Promise(() => undefined);
  };
  const synced = follower.sync();
  await fixture.platform.until(() => isAsked);
  fixture.intercept = () => undefined;
  losing();
  await fixture.finish(synced);
  expect([leader, next, follower].map(({ status }) => status.getSnapshot().tab)).toEqual([
    'follower',
    'leader',
    'follower',
  ]);
});

it('[TABS-2] a tab that has missed that its change was stored is told so when it sends the change again', async () => {
  const fixture = await newDeviceFixture();
  let isLosing = false;
  const { open } = sharedTabs(fixture, (message) => isLosing && (message as { type: string }).type === 'committed');
  const leader = await open();
  await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(leader.sync());
  leader.goOffline();
  const follower = await open();
  isLosing = true;
  const created = follower.source('Order').create({ n: 1 }, { id: 'o' });
  await fixture.platform.until(() => leader.source('Order').get('o') !== undefined);
  await fixture.finish(leader.source('Order').create({ n: 2 }, { id: 'p' }));
  isLosing = false;
  await fixture.finish(leader.source('Order').create({ n: 3 }, { id: 'q' }));
  await fixture.finish(created);
  expect(leader.uploads.list()).toHaveLength(3);
});
