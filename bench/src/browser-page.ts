import type { BenchDevice } from './device-fixture.ts';
import { SOURCE } from './fixture.ts';

/** Functions of the page. Raw access stores one row per object, in transactions of 1,000. */
export const PAGE_FUNCTIONS = `(async () => {
  const { openDevice } = await import('@tidemark/client');
  const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
  const answered = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  const timed = async (work) => {
    const startMs = performance.now();
    await work();
    return performance.now() - startMs;
  };
  const open = async ({ url, store, start = 'last_results' }) => {
    globalThis.device = await openDevice({ url, store, live: false, start });
    const query = device.source('${SOURCE}').query({ limit: 50 });
    query.subscribe(() => undefined);
    return query;
  };
  const loaded = () => new Promise((resolve) => {
    const look = () => { if (!device.status.getSnapshot().isLoading) resolve(); };
    device.status.subscribe(look);
    look();
  });
  const rawDatabase = () => {
    const request = indexedDB.open('raw', 1);
    request.onupgradeneeded = () => request.result.createObjectStore('objects');
    return answered(request);
  };
  Object.assign(globalThis, {
    firstSync: async ({ url, session }) => {
      const store = await openIndexedDbStore();
      await store.commit(session);
      const ms = await timed(async () => {
        const query = await open({ url, store });
        await device.sync();
        if (query.list().length !== 50) throw new Error('the first sync brought nothing');
      });
      await device.close();
      return ms;
    },
    start: async ({ url, start }) => {
      let firstQueryMs;
      const loadedMs = await timed(async () => {
        firstQueryMs = await timed(async () => {
          const query = await open({ url, start, store: await openIndexedDbStore() });
          if (query.list().length !== 50) throw new Error('the device is empty');
        });
        await loaded();
      });
      return { firstQueryMs, loadedMs };
    },
    // A pull and the comparison with the checksum of the server follow.
    startAndSync: async (options) => {
      await start(options);
      await device.sync();
      await new Promise((resolve) => setTimeout(resolve, 500));
    },
    rawPuts: async () => {
      const rows = device.source('${SOURCE}').list().map(({ id, attributes }) => [['${SOURCE}', id], attributes]);
      const db = await rawDatabase();
      return timed(async () => {
        for (let from = 0; from < rows.length; from += 1_000) {
          const tx = db.transaction('objects', 'readwrite', { durability: 'relaxed' });
          for (const [key, value] of rows.slice(from, from + 1_000)) tx.objectStore('objects').put(value, key);
          await new Promise((resolve, reject) => { tx.oncomplete = resolve; tx.onabort = () => reject(tx.error); });
        }
      });
    },
    rawRead: () => timed(async () => {
      const objects = (await rawDatabase()).transaction('objects').objectStore('objects');
      await Promise.all([answered(objects.getAllKeys()), answered(objects.getAll())]);
    }),
  });
})()`;

/** What a store holds of a device that has signed in. */
export function sessionOf({ user: userId, client: clientId, token }: BenchDevice) {
  const session = { token, userId, clientId, givenAtMs: Date.now(), expiresAtMs: Date.now() + 86_400_000 };
  return [
    { table: 'facts', key: ['', 'session'], value: session },
    { table: 'facts', key: ['', 'owner'], value: { userId, clientId } },
  ];
}
