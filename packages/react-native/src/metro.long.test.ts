import { createContext, Script } from 'node:vm';
import type { Device } from '@tidemark/client';
import { newDeviceFixture } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { bundleWithMetro } from '../test-app/metro-bundle.ts';

const APP = `
import { openDevice } from '@tidemark/client';
import { openKeyValueStore } from '@tidemark/client/key-value-store';

globalThis.start = async ({ storage, platform }) => {
  const store = await openKeyValueStore(storage);
  return openDevice({ url: 'http://tidemark.test', store, platform, live: false, pageObjects: 100 });
};
globalThis.rename = (device, id, name) => device.source('Order').update(id, { name });
`;

/** What React Native has of the web. It has neither streams nor `TextDecoder`, and its `URL` is a small one. */
function reactNativeGlobals() {
  class Url {
    readonly #url: URL;
    constructor(text: string) {
      this.#url = new URL(text);
    }
    get protocol() {
      return this.#url.protocol;
    }
    get username() {
      return this.#url.username;
    }
    get password() {
      return this.#url.password;
    }
    get search() {
      return this.#url.search;
    }
    get hash() {
      return this.#url.hash;
    }
    get pathname() {
      return this.#url.pathname;
    }
  }
  return { AbortController, TextEncoder, URL: Url, console, queueMicrotask, setTimeout, clearTimeout };
}

it('[SDK-33] an app with the SDK is bundled by Metro, and syncs a large source with what React Native has of the web', async () => {
  const fixture = await newDeviceFixture();
  const objects = Object.fromEntries(Array.from({ length: 3_000 }, (_, at) => [`o${at}`, { name: `é ${at}` }]));
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });
  const context = createContext(reactNativeGlobals());
  const code = await bundleWithMetro({ modules: { 'app.js': APP }, packages: ['client', 'protocol'] });
  new Script(code).runInContext(context);
  const items = new Map<string, string>();
  const storage = {
    getAllKeys: async () => [...items.keys()],
    getMany: async (keys: string[]) => Object.fromEntries(keys.map((key) => [key, items.get(key) ?? null])),
    setMany: async (entries: Record<string, string>) => {
      for (const [key, value] of Object.entries(entries)) items.set(key, value);
    },
    removeMany: async (keys: string[]) => {
      for (const key of keys) items.delete(key);
    },
  };
  const { platform } = fixture;
  const withoutStreams = async (url: string, init: RequestInit) => {
    const response = await platform.fetch(url, init);
    const { ok, status, headers } = response;
    return { ok, status, headers, body: undefined, text: () => response.text(), json: () => response.json() };
  };
  const own = {
    nowMs: () => platform.nowMs(),
    randomBytes: (count: number) => platform.randomBytes(count),
    after: (ms: number, callback: () => void) => platform.after(ms, callback),
    fetch: withoutStreams,
    network: null,
    tabs: null,
  };
  const device: Device = await context.start({ storage, platform: own });
  await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(device.sync());
  expect(fixture.sync.log.filter(({ path }) => path.includes('snapshot'))).toHaveLength(1);
  expect(device.source('Order').list()).toHaveLength(3_000);
  await context.rename(device, 'o7', 'seven');
  await fixture.finish(device.sync());
  const { 0: found } = [...(await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' }))].filter(
    ([id]) => id === 'o7',
  );
  expect(found).toEqual(['o7', { name: 'seven' }]);
  await device.close();
});
