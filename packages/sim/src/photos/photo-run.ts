import { createHash } from 'node:crypto';
import {
  Caller,
  launchKillableChromium,
  makeUser,
  type ServerProcess,
  signIn,
  startDevice,
  startSdkApp,
  startServerProcess,
  type Tab,
  temporaryFolder,
} from '@tidemark/testing/kit';
import { CuttingProxy } from './cutting-proxy.ts';
import { photoBytes } from './photo-bytes.ts';

export interface PhotoOptions {
  readonly files: number;
  readonly size: number;
  readonly cutAfterBytes: number;
  /** Resolves when the browser is to be killed; `sent` tells how many bytes have passed. */
  readonly untilKill: (round: number, sent: SentBytes) => Promise<void>;
  readonly onRound?: (line: string) => void;
}

/** Counts the bytes that devices have sent. */
export class SentBytes {
  #total = 0;
  readonly #waiting = new Set<{ readonly from: number; readonly resolve: () => void }>();

  get total(): number {
    return this.#total;
  }

  note(total: number): void {
    this.#total = total;
    for (const waiter of this.#waiting) {
      if (total < waiter.from) continue;
      this.#waiting.delete(waiter);
      waiter.resolve();
    }
  }

  reach(from: number): Promise<void> {
    if (this.#total >= from) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.add({ from, resolve }));
  }
}

export interface PhotoReport {
  readonly kills: number;
  readonly cuts: number;
  /** Bytes sent, as a multiple of the bytes of all files. */
  readonly factor: number;
  /** The photos that the server does not have, or has with other bytes. */
  readonly wrong: readonly number[];
}

/** A run must end, whatever is wrong. */
const ROUNDS_MAX = 500;

/** Takes photos in a browser that is killed again and again, behind a proxy that cuts every connection. */
export async function runPhotos(options: PhotoOptions): Promise<PhotoReport> {
  const app = await startSdkApp();
  const server = await startServerProcess({ TIDEMARK_LOG_LEVEL: 'silent', TIDEMARK_DEVICES_ORIGINS: app.url });
  const folder = await temporaryFolder();
  try {
    const token = await prepare(server);
    const report = await takePhotos(options, server, { appUrl: app.url, profile: folder.path });
    return { ...report, wrong: await wrongPhotos(options, server.url, token) };
  } finally {
    await server.stop();
    await app.close();
    await folder.remove();
  }
}

/** Returns the token of the administrator. */
async function prepare({ url, adminPassword }: ServerProcess): Promise<string> {
  const door = new Caller(url, null);
  const { text: token } = await door.post('/rc/v1/system/login', { login: 'admin', password: adminPassword });
  door.close();
  const admin = new Caller(url, token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
  admin.close();
  await makeUser({ url, token }, 'ada');
  return token;
}

async function takePhotos(
  { files, size, cutAfterBytes, untilKill, onRound }: PhotoOptions,
  server: ServerProcess,
  place: { readonly appUrl: string; readonly profile: string },
): Promise<Omit<PhotoReport, 'wrong'>> {
  const sent = new SentBytes();
  const proxy = await CuttingProxy.open(Number(new URL(server.url).port), cutAfterBytes, (total) => sent.note(total));
  try {
    for (let round = 0; round < ROUNDS_MAX; round++) {
      const browser = await launchKillableChromium(place.profile);
      try {
        const tab = await browser.openTab(place.appUrl);
        await startDevice(tab, proxy.url);
        if (round === 0) await signIn(tab, 'ada');
        const isDone = await Promise.race([allArrived(tab, files, size), untilKill(round, sent).then(() => false)]);
        onRound?.(`round ${round}: ${proxy.bytes} bytes sent, ${proxy.cuts} connections cut`);
        if (isDone) return { kills: round, cuts: proxy.cuts, factor: proxy.bytes / (files * size) };
      } finally {
        await browser.kill();
      }
    }
    throw new Error(`the photos have not arrived after ${ROUNDS_MAX} rounds`);
  } finally {
    await proxy.close();
  }
}

/** Takes the photos that are not taken yet, each with an object. Resolves to true when the server has all of them. */
async function allArrived(tab: Tab, files: number, size: number): Promise<boolean> {
  const work = tab.evaluate(`(async () => {
    const photoBytes = ${photoBytes.toString()};
    for (let number = 0; number < ${files}; number++) {
      if (orders.get(String(number)) !== undefined) continue;
      const photo = await device.files.add(photoBytes(number, ${size}), { type: 'image/jpeg' });
      await orders.create({ photo }, { id: String(number) });
    }
    await new Promise((resolve) => {
      const look = () => {
        if (device.files.waiting.getSnapshot().length === 0 && device.uploads.list().length === 0) resolve();
      };
      device.files.waiting.subscribe(look);
      device.uploads.subscribe(look);
      look();
    });
  })()`);
  // The kill of the browser ends it.
  return work.then(
    () => true,
    () => new Promise<never>(() => undefined),
  );
}

/** Downloads every photo, as a backend does. */
async function wrongPhotos({ files, size }: PhotoOptions, url: string, token: string): Promise<readonly number[]> {
  const get = (path: string) => fetch(`${url}${path}`, { headers: { 'x-sync-api-token': token } });
  const objects = (await (await get('/rc/v1/users/ada/sources/Order/docs/md')).json()) as Record<string, unknown>;
  const wrong: number[] = [];
  for (let number = 0; number < files; number++) {
    const sha256 = hashOf(photoBytes(number, size));
    const hasObject = JSON.stringify(objects[number] ?? null).includes(sha256);
    const answer = await get(`/rc/v1/files/${sha256}`);
    const isExact = answer.ok && hashOf(new Uint8Array(await answer.arrayBuffer())) === sha256;
    if (!hasObject || !isExact) wrong.push(number);
  }
  return wrong;
}

function hashOf(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
