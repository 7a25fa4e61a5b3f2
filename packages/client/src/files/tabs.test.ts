import { createHash } from 'node:crypto';
import { type Device, openDevice } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture, tabsInMemory } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;
let open: () => Promise<Device>;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  const { platform } = fixture;
  const kept = memoryStore();
  const { files } = kept;
  const store = { sharedAs: 'one', load: () => kept.load(), commit: kept.commit, close: async () => undefined };
  const shared = {
    tabs: tabsInMemory(),
    network: platform.network,
    nowMs: () => platform.nowMs(),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: (url: string, init: RequestInit) => platform.fetch(url, init),
  };
  const options = { url: 'http://tidemark.test', live: false, platform: shared };
  open = () => fixture.finish(openDevice({ ...options, store: { ...store, files: files as never } }));
});

/** Two tabs, of which the first leads. */
async function twoTabs() {
  const [leader, follower] = [await open(), await open()];
  await fixture.finish(leader.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(follower.sync());
  expect([leader, follower].map(({ status }) => status.getSnapshot().tab)).toEqual(['leader', 'follower']);
  return { leader, follower };
}

const statusOf = (device: Device, file: Parameters<Device['files']['state']>[0]) =>
  device.files.state(file).getSnapshot().status;
const posts = () => fixture.sync.count('/files');

it('[FILES-89] a file that any tab adds is in one queue, and every tab shows where it is', async () => {
  const { leader, follower } = await twoTabs();
  const bytes = new Uint8Array(100).fill(1);
  fixture.intercept = ({ method }, _go, init) => (method === 'PATCH' ? fixture.platform.hang(init) : undefined);
  const file = await fixture.finish(follower.files.add(bytes));
  for (const tab of [leader, follower]) {
    await fixture.platform.until(() => statusOf(tab, file) === 'uploading');
    expect(tab.files.waiting.getSnapshot()).toMatchObject([{ file: file.$file }]);
    expect(await (await fixture.finish(tab.files.blob(file))).arrayBuffer()).toEqual(bytes.buffer);
  }
  expect(posts()).toBe(1);
  await fixture.finish(follower.files.discard(file));
  await fixture.platform.until(() => statusOf(leader, file) === 'missing' && statusOf(follower, file) === 'missing');
  await Promise.all([leader, follower].map((tab) => fixture.finish(tab.close())));
});

it('[FILES-89] when the tab that leads is closed, the next one goes on with its files', async () => {
  const { leader, follower } = await twoTabs();
  fixture.intercept = ({ method }, _go, init) => (method === 'PATCH' ? fixture.platform.hang(init) : undefined);
  const file = await fixture.finish(leader.files.add(new Uint8Array(100).fill(2)));
  await fixture.platform.until(() => statusOf(follower, file) === 'uploading');
  fixture.intercept = () => undefined;
  await fixture.finish(leader.close());
  await fixture.platform.until(() => statusOf(follower, file) === 'uploaded');
  expect([...fixture.sync.files.stored.keys()]).toEqual([file.$file.sha256]);
  await fixture.finish(follower.close());
});

it('[FILES-89] a tab that does not lead has a file fetched once for all of them', async () => {
  const { leader, follower } = await twoTabs();
  const bytes = new Uint8Array(100).fill(3);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  fixture.sync.files.stored.set(sha256, bytes);
  const reference = { sha256, size: bytes.length, type: 'image/png' };
  expect((await fixture.finish(follower.files.blob(reference))).size).toBe(100);
  await fixture.finish(leader.files.blob(reference));
  expect(fixture.sync.count(`/files/${sha256}`)).toBe(1);
  await Promise.all([leader, follower].map((tab) => fixture.finish(tab.close())));
});
