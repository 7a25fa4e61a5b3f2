import { defaultPlatform } from './default-platform.ts';
import { Device } from './device.ts';
import { Engine } from './engine/engine.ts';
import { POLL_MS_DEFAULT } from './limits.ts';
import type { LocalStore } from './ports/local-store.ts';
import type { Platform } from './ports/platform.ts';
import { memoryStore } from './stores/memory-store.ts';

export interface DeviceOptions {
  /** Where the server is, without `/sync/v1`. */
  readonly url: string;
  /** Where the data is kept. Default: in memory, gone with the process. */
  readonly store?: LocalStore;
  /** Only these sources. Default: all the user may have. */
  readonly sources?: readonly string[];
  /** Objects in a page, when it should be fewer than the server gives. */
  readonly pageObjects?: number;
  /** How often to ask for changes while there is no stream of events, in milliseconds. Default: a minute. */
  readonly pollMs?: number;
  /** Whether to hear of changes as they happen. Default: yes. */
  readonly live?: boolean;
  /** Whether a large first sync may come as a stream. Default: yes. */
  readonly snapshots?: boolean;
  /** Parts of the world to replace: React Native may have to bring `randomBytes` and `network`. */
  readonly platform?: Partial<Platform>;
}

/** Opens a device: loads what it kept, and goes on where it was. */
export async function openDevice(options: DeviceOptions): Promise<Device> {
  const engine = await Engine.open({
    url: options.url,
    store: options.store ?? memoryStore(),
    platform: completed(options.platform ?? {}),
    sources: options.sources ?? null,
    pageObjects: options.pageObjects ?? null,
    pollMs: options.pollMs ?? POLL_MS_DEFAULT,
    usesStream: options.live ?? true,
    usesSnapshots: options.snapshots ?? true,
  });
  return new Device(engine);
}

/** Member by member, since what an app brings may be of a class, whose methods a spread would lose. */
function completed(given: Partial<Platform>): Platform {
  const own = defaultPlatform();
  return {
    nowMs: () => (given.nowMs === undefined ? own.nowMs() : given.nowMs()),
    randomBytes: (count) => (given.randomBytes === undefined ? own.randomBytes(count) : given.randomBytes(count)),
    after: (ms, callback) => (given.after === undefined ? own.after(ms, callback) : given.after(ms, callback)),
    fetch: (url, init) => (given.fetch === undefined ? own.fetch(url, init) : given.fetch(url, init)),
    network: given.network === undefined ? own.network : given.network,
  };
}
