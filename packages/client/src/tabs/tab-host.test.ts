import { type Device, memoryStore, openDevice } from '@tidemark/client';
import { newDeviceWorld, tabsInMemory } from '@tidemark/testing';
import { expect, it } from 'vitest';

it('[SESSION-8] every tab says why the session ended when it says that the user has to sign in, and says it once', async () => {
  const world = await newDeviceWorld();
  const { platform, sync } = world;
  const kept = memoryStore();
  const store = { sharedAs: 'one', load: () => kept.load(), commit: kept.commit, close: async () => undefined };
  const shared = {
    tabs: tabsInMemory(),
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const open = () => world.finish(openDevice({ url: 'http://tidemark.test', live: false, store, platform: shared }));
  const [leader, follower] = [await open(), await open()];
  await world.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
  await world.finish(follower.sync());
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
  await expect(world.finish(follower.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
  await platform.advance(1_000);
  expect([ofLeader, ofFollower]).toEqual([['password_changed'], ['password_changed']]);
});
