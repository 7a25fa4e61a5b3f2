import { launchChromium, startSdkApp } from '@tidemark/testing/kit';
import { sessionOf } from '../browser-page.ts';
import { makeDevices, openDeviceFixture } from '../device-fixture.ts';
import { SOURCE } from '../fixture.ts';
import { longestMs, mainThreadTasks, TASK_CATEGORIES } from '../main-thread-tasks.ts';
import { median } from '../measure.ts';
import type { Row } from '../row.ts';
import { taskRow } from '../task-row.ts';

/** As phones take photos. */
const SIZE = 3_000_000;
const PHOTOS = 21;
const WARM_UP = 3;
/** As many as are sent at once, so that every upload stalls. */
const STALLED = 3;
/** Above that people notice that the app waits. */
const ADD_MS_MAX = 50;
const MARK = 'adding photos';

interface Added {
  /** Of each call of `files.add`. */
  readonly addMs: readonly number[];
  /** Of storing and hashing the same bytes without the SDK. */
  readonly rawMs: readonly number[];
}

/** How long a page in Chromium waits for `files.add` while every upload hangs, and how long its main thread is busy with it. */
export async function browserFiles(): Promise<readonly Row[]> {
  const app = await startSdkApp();
  const browser = await launchChromium();
  const { fixture, prepared } = await openDeviceFixture(
    async (tidemark) => {
      await tidemark.sources.declare({ name: SOURCE, partition_type: 'user' });
      return makeDevices(tidemark, 1);
    },
    { TIDEMARK_DEVICES_ORIGINS: app.url },
  );
  try {
    const [device] = prepared;
    if (device === undefined) throw new Error('there is a device');
    const page = await browser.newPage();
    await page.goto(app.url);
    await page.evaluate(PAGE_CODE);
    await page.evaluate(`stall(${JSON.stringify({ url: fixture.url, session: sessionOf(device) })})`);
    await browser.startTracing(undefined, { categories: [...TASK_CATEGORIES] });
    await page.evaluate(`performance.mark('${MARK}')`);
    const addMs = (await page.evaluate('addPhotos()')) as Added['addMs'];
    const longest = longestMs(mainThreadTasks(await browser.stopTracing(), MARK));
    const rawMs = (await page.evaluate('storePhotos()')) as Added['rawMs'];
    return rowsOf({ addMs, rawMs }, longest);
  } finally {
    await browser.close();
    await fixture.close();
    await app.close();
  }
}

/** The load of the machine makes calls slower, and never faster: the least is what they take. */
function rowsOf({ addMs, rawMs }: Added, longest: number): readonly Row[] {
  const [least, raw] = [Math.min(...addMs), Math.min(...rawMs)];
  return [
    {
      name: 'files.add of a photo of 3 MB in Chromium while uploads hang',
      measured: `${least.toFixed(1)} ms (median ${median(addMs).toFixed(1)} ms, at most ${Math.max(...addMs).toFixed(1)} ms)`,
      against: `${ADD_MS_MAX} ms allowed`,
      ratio: least / ADD_MS_MAX,
      bound: { atMost: 1 },
    },
    {
      name: 'the same beside IndexedDB and WebCrypto alone',
      measured: `${least.toFixed(1)} ms`,
      against: `${raw.toFixed(1)} ms (median ${median(rawMs).toFixed(1)} ms)`,
      ratio: least / raw,
      bound: { atMost: 1.5 },
    },
    taskRow('longest task meanwhile', PHOTOS, longest),
  ];
}

/** Functions of the page. The bytes of a photo are there before the clock runs, as those from a camera are. */
const PAGE_CODE = `(async () => {
  const { openDevice } = await import('@tidemark/client');
  const { openIndexedDbStore } = await import('@tidemark/client/indexeddb-store');
  const takePhoto = () => {
    const bytes = new Uint8Array(${SIZE});
    for (let at = 0; at < bytes.length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
    return new Blob([bytes], { type: 'image/jpeg' });
  };
  const timed = async (work) => {
    const times = [];
    for (let n = 0; n < ${PHOTOS + WARM_UP}; n++) {
      const photo = takePhoto();
      const startMs = performance.now();
      await work(photo, n);
      times.push(performance.now() - startMs);
    }
    return times.slice(${WARM_UP});
  };
  const hang = ({ signal }) => new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  const answered = (request) => new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
  Object.assign(globalThis, {
    stall: async ({ url, session }) => {
      const store = await openIndexedDbStore();
      await store.commit(session);
      let stalled = 0;
      const send = (target, init) => {
        if (init.method !== 'PATCH') return fetch(target, init);
        stalled++;
        return hang(init);
      };
      globalThis.device = await openDevice({ url, store, live: false, platform: { fetch: send } });
      for (let n = 0; n < ${STALLED}; n++) await device.files.add(takePhoto());
      while (stalled < ${STALLED}) await new Promise((resolve) => setTimeout(resolve, 10));
    },
    addPhotos: () => timed((photo) => device.files.add(photo)),
    storePhotos: async () => {
      const request = indexedDB.open('raw', 1);
      request.onupgradeneeded = () => request.result.createObjectStore('entries');
      const db = await answered(request);
      const put = async (bytes, key) => {
        const tx = db.transaction('entries', 'readwrite', { durability: 'strict' });
        tx.objectStore('entries').put(bytes, key);
        await new Promise((resolve, reject) => { tx.oncomplete = resolve; tx.onabort = () => reject(tx.error); });
      };
      return timed(async (photo, n) => {
        const bytes = await photo.arrayBuffer();
        await put(bytes, n + '.0');
        await crypto.subtle.digest('SHA-256', bytes);
        await put({ size: photo.size }, n + '.row');
      });
    },
  });
})()`;
