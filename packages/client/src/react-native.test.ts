import { cp, mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createContext, Script } from 'node:vm';
import type { Device } from '@tidemark/client';
import { newDeviceFixture, temporaryFolder } from '@tidemark/testing';
import { loadConfig, runBuild } from 'metro';
import { expect, it, onTestFinished } from 'vitest';

const PACKAGES = fileURLToPath(new URL('../../', import.meta.url));
const runtime = dirname(
  createRequire(createRequire(import.meta.url).resolve('metro')).resolve('metro-runtime/package.json'),
);

const APP = `
import { openDevice } from '@tidemark/client';
import { openKeyValueStore } from '@tidemark/client/key-value-store';

globalThis.start = async ({ storage, platform }) => {
  const store = await openKeyValueStore(storage);
  return openDevice({ url: 'http://tidemark.test', store, platform, live: false, pageObjects: 100 });
};
globalThis.rename = (device, id, name) => device.source('Order').update(id, { name });
`;

/** Bundles an app as Metro does in a repository with several packages: the SDK is linked into its node_modules. */
async function bundleApp(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const modules = join(folder.path, 'node_modules');
  await mkdir(join(modules, '@tidemark'), { recursive: true });
  for (const name of ['client', 'protocol']) {
    const copy = join(folder.path, 'packages', name);
    await cp(join(PACKAGES, name, 'dist'), join(copy, 'dist'), { recursive: true });
    await cp(join(PACKAGES, name, 'package.json'), join(copy, 'package.json'));
    await symlink(copy, join(modules, '@tidemark', name), 'dir');
  }
  await writeFile(join(folder.path, 'index.js'), APP);
  await writeFile(join(folder.path, 'package.json'), '{ "name": "app" }');
  const config = await loadConfig(
    { cwd: folder.path },
    {
      projectRoot: folder.path,
      watchFolders: [folder.path, runtime],
      maxWorkers: 1,
      cacheStores: [],
      reporter: { update: () => undefined },
      resolver: {
        useWatchman: false,
        resolverMainFields: ['react-native', 'browser', 'main'],
        extraNodeModules: { 'metro-runtime': runtime },
      },
      transformer: {
        getTransformOptions: async () => ({ transform: { experimentalImportSupport: true, inlineRequires: false } }),
      },
    },
  );
  const out = join(folder.path, 'app.js');
  await runBuild(config, { entry: 'index.js', out, platform: 'android', dev: false, minify: false });
  return readFile(out, 'utf8');
}

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
  new Script(await bundleApp()).runInContext(context);
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
