import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';
import { clientError } from '../client-error.ts';
import { CallLog } from '../debug/call-log.ts';
import { Device } from '../device/device.ts';
import type { LocalStore } from '../ports/local-store.ts';
import { DeviceQueries } from '../queries/source-queries.ts';
import { memoryStore } from '../stores/memory-store.ts';
import { Alone } from './alone.ts';
import { type LoadNetwork, loadNetwork } from './load-network.ts';

const NOT_LOADED = { code: 'unreachable', detail: 'the part of the SDK that uses the network could not be loaded' };
const fail: LoadNetwork = async () => {
  throw clientError('unreachable', NOT_LOADED.detail);
};

let fixture: DeviceFixture;
/** How the network part is loaded, and how often that was tried. */
let load: LoadNetwork;
let attempts: number;

beforeEach(async () => {
  load = loadNetwork;
  attempts = 0;
  fixture = await newDeviceFixture();
});

async function openDevice(store: LocalStore): Promise<Device> {
  const host = await Alone.open({
    ...{ url: 'http://tidemark.test', store, platform: fixture.platform, sources: null, pageObjects: null },
    ...{
      pollMs: 60_000,
      usesStream: false,
      usesSnapshots: true,
      show: 'whole',
      about: {},
      getToken: null,
      merge: {},
      loadEarly: null,
      disk: null,
      files: {},
      versions: null,
      loadFileWork: () => Promise.reject(new Error('there are no files')),
    },
    loadNetwork: () => {
      attempts++;
      return load();
    },
  });
  return new Device(host, new CallLog(null), new DeviceQueries(host.replica, null), null);
}

const status = (device: Device) => device.status.getSnapshot();

/** Returns a store with a session and one object. */
async function filledStore() {
  const store = memoryStore();
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { n: 1 } } });
  const device = await fixture.open({ store });
  await fixture.finish(device.sync());
  const rows = await store.load();
  await device.close();
  return memoryStore(rows);
}

it('[SDK-27] a device whose network part cannot be loaded shows its data, takes changes, says so, and syncs once it can', async () => {
  const store = await filledStore();
  load = fail;
  const device = await openDevice(store);
  expect(device.source('Order').get('1')?.attributes).toEqual({ n: 1 });
  await device.source('Order').update('1', { n: 2 });
  expect(
    device
      .source('Order')
      .query({ where: { n: 2 } })
      .count(),
  ).toBe(1);
  await expect(fixture.finish(device.sync())).rejects.toMatchObject(NOT_LOADED);
  expect(status(device)).toMatchObject({ mode: 'backing_off', error: NOT_LOADED, pendingUploads: 1 });
  expect(status(device).retryAtMs).not.toBeNull();
  load = loadNetwork;
  await fixture.platform.until(() => status(device).pendingUploads === 0);
  expect(status(device).error).toBeNull();
});

it('[SDK-27] a sign-in says that the network part cannot be loaded, and the next one succeeds', async () => {
  load = fail;
  const device = await openDevice(memoryStore());
  const signIn = () => fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await expect(signIn()).rejects.toMatchObject(NOT_LOADED);
  expect(status(device).mode).toBe('signed_out');
  load = loadNetwork;
  await signIn();
  await fixture.finish(device.sync());
});

it('[SDK-27] a device that signs out while its network part cannot be loaded revokes its token once it can', async () => {
  const store = await filledStore();
  load = fail;
  const device = await openDevice(store);
  await fixture.finish(device.signOut());
  let revoked = 0;
  fixture.intercept = ({ method, path }) => {
    if (method === 'DELETE' && path === '/token') revoked++;
    return undefined;
  };
  load = loadNetwork;
  await fixture.platform.until(() => revoked === 1);
});

it('[SDK-27] a device without a network does not load the network part, and loads it when the network is back', async () => {
  const store = await filledStore();
  fixture.platform.setOnline(false);
  const device = await openDevice(store);
  await device.source('Order').update('1', { n: 3 });
  expect(attempts).toBe(0);
  fixture.platform.setOnline(true);
  await fixture.platform.until(() => status(device).pendingUploads === 0);
  expect(attempts).toBe(1);
});

it('[SDK-27] closing a device does not wait for a network part that is still being loaded', async () => {
  const store = await filledStore();
  load = () => new Promise(() => undefined);
  const device = await openDevice(store);
  await device.close();
  expect(status(device).mode).toBe('stopped');
});
