import { type Device, type DeviceOptions, openDevice, type Platform } from '@tidemark/client';
import { type Passwords, Tidemark } from '@tidemark/core';
import {
  type AttributesOfSource,
  DEFAULT_LIMITS,
  type SchemaChanges,
  type SourceName,
  type SourceTypes,
  type Untyped,
} from '@tidemark/protocol';
import { type Attributes, adaptersOf, type TestBackend } from './kit-backend.ts';
import { openMemoryStore } from './memory-store/open-memory-store.ts';
import { TestNetwork } from './network/switchable-network.ts';
import { seededRandom } from './random/seeded-random.ts';
import { InProcessSync, type SyncExchange } from './sync/in-process-sync.ts';

/** A source, with the names that its attributes have on the server. */
export interface TestSource<N extends string = string, A = Attributes> {
  readonly name: N;
  /** `user`: every user has objects of their own; `group`: groups have them; `app`: all share them. Default: `user`. */
  readonly partition_type?: 'user' | 'group' | 'app';
  /** `detect`: changes of the same attribute are conflicts. Default: the last one wins. */
  readonly conflicts?: 'detect' | 'last_writer';
  /** True: devices cannot change it. */
  readonly read_only?: boolean;
  /** Attributes that refer to objects of another source. */
  readonly references?: Readonly<Record<string, string>>;
  /** Decides about changes of devices, and gives data. Absent: the server accepts every change. */
  readonly backend?: TestBackend<A>;
  /** How often `query` of the backend is asked, in seconds; 0: at every sync, -1: never. Default: 0 if it has a `query`. */
  readonly poll_interval?: number;
}

/** One of the sources, with the type of its attributes. */
type TestSourceOf<S extends SourceTypes> = string extends keyof S
  ? TestSource
  : { readonly [N in SourceName<S>]: TestSource<N, AttributesOfSource<S, N>> }[SourceName<S>];

/** Objects of a source by their ids; any objects where the sources have no types. */
type PushedObjects<S extends SourceTypes, N extends keyof S> = Readonly<
  Record<string, string extends keyof S ? object : Partial<AttributesOfSource<S, N>>>
>;

export interface TestServerOptions<S extends SourceTypes = Untyped> {
  readonly sources: readonly TestSourceOf<S>[];
  /** Logins; the password of each is `password`. */
  readonly users: readonly string[];
  /** The members of each group. */
  readonly groups?: Readonly<Record<string, readonly string[]>>;
  /** How much faster the time of devices passes, so that pauses after failures take milliseconds. Default: 100. */
  readonly speed?: number;
  /** For ids and for what the network loses: the same seed does the same. Default: 1. */
  readonly seed?: number;
}

export interface TestDeviceOptions<S extends SourceTypes = Untyped>
  extends Partial<Omit<DeviceOptions<S>, 'url' | 'platform'>> {
  /** Signs in as this user; without one, nobody is signed in. */
  readonly user?: string;
}

/** The owner of objects, a user or a group; none for sources that all share. */
interface Owner {
  readonly user?: string;
  readonly group?: string;
}

/** A Tidemark server in this process, with a network that the test controls. */
export interface TestServer<S extends SourceTypes = Untyped> {
  /** For `openDevice` of the app, with `platform`. */
  readonly url: string;
  readonly platform: Platform;
  readonly network: TestNetwork;
  readonly password: string;
  /** Every request that reached the server, in order. */
  readonly requests: readonly SyncExchange[];
  /** Opens a device, which `close` closes. */
  openDevice(options?: TestDeviceOptions<S>): Promise<Device<S>>;
  /** Writes objects as a backend does; attributes that are not named stay. */
  push<N extends keyof S & string>(source: N, objects: PushedObjects<S, N>, owner?: Owner): Promise<void>;
  /** Deletes objects as a backend does. */
  remove(source: keyof S & string, ids: readonly string[], owner?: Owner): Promise<void>;
  /** Returns what the server holds. */
  objects<N extends keyof S & string>(
    source: N,
    owner?: Owner,
  ): Promise<Readonly<Record<string, AttributesOfSource<S, N>>>>;
  /** The files that devices have sent, by SHA-256. */
  readonly files: ReadonlyMap<string, Uint8Array>;
  /** Makes the user a member of these groups and no others; devices that are online notice at once. */
  setGroups(user: string, groups: readonly string[]): Promise<void>;
  /** Sets the schema of a source as an administrator does, and converts its objects to the new version. */
  setSchema(source: string, change: SchemaChanges): Promise<void>;
  /** Ends all sessions, as an administrator or a changed password does. */
  endSessions(): void;
  /** Closes the server and the devices it opened. */
  close(): Promise<void>;
}

const URL_OF_TESTS = 'http://tidemark.test';
const PASSWORD = 'password';
const SPEED = 100;

/** Starts a server. It takes a few milliseconds and needs no port. `S` are the types of its sources, if the app has them. */
export async function openTestServer<S extends SourceTypes = Untyped>(
  given: TestServerOptions<NoInfer<S>>,
): Promise<TestServer<S>> {
  // Types of sources are for those who write tests.
  const options = given as TestServerOptions;
  const { speed = SPEED, seed = 1 } = options;
  const random = seededRandom(seed);
  const clock = fastClock(speed);
  const store = openMemoryStore({ random });
  const log = { debug: noLog, info: noLog, warn: noLog, error: noLog };
  const adapters = adaptersOf(
    new Map(options.sources.flatMap(({ name, backend }) => (backend ? [[name, backend]] : []))),
  );
  const tidemark = new Tidemark({ store, clock, random, passwords: PLAIN, log, limits: DEFAULT_LIMITS, adapters });
  for (const source of options.sources) await tidemark.sources.declare(declarationOf(source));
  for (const login of options.users) await tidemark.users.create({ attributes: { login, password: PASSWORD } });
  for (const [group, members] of Object.entries(options.groups ?? {}))
    for (const login of members) await tidemark.groups.add(login, [group]);
  const sync = new InProcessSync(tidemark, clock.nowMs);
  sync.sendsPages = true;
  sync.files.checksReaders = true;
  const network = new TestNetwork(sync.fetch, clock.after, seed);
  const platform: Platform = {
    nowMs: clock.nowMs,
    after: clock.after,
    randomBytes: (count) => random.bytes(count),
    fetch: network.fetch,
    network: network.hints,
    tabs: null,
  };
  const devices = new Set<Device>();
  return {
    url: URL_OF_TESTS,
    platform,
    network,
    password: PASSWORD,
    requests: sync.log,
    files: sync.files.stored,
    async openDevice({ user, ...rest } = {}) {
      const device = await openDevice<S>({ ...rest, url: URL_OF_TESTS, platform });
      devices.add(device);
      if (user !== undefined) await device.signIn({ login: user, password: PASSWORD });
      return device;
    },
    async push(source, objects, owner) {
      await tidemark.objects.push({ source, objects: objects as never, ...scopeOf(owner) });
    },
    async remove(source, ids, owner) {
      await tidemark.objects.pushDeletes({ source, objects: ids, ...scopeOf(owner) });
    },
    async objects(source, owner) {
      return Object.fromEntries(await tidemark.objects.read({ source, ...scopeOf(owner) })) as never;
    },
    async setGroups(user, groups) {
      await tidemark.groups.set(user, groups);
    },
    async setSchema(source, change) {
      await tidemark.sources.schemas.set(source, change);
      await tidemark.conversions.run();
    },
    endSessions: () => sync.endSessions(),
    async close() {
      await Promise.all([...devices].map((device) => device.close()));
      await store.close();
    },
  };
}

function declarationOf({ backend, ...source }: TestSource) {
  if (backend === undefined) return { partition_type: 'user', ...source };
  const poll_interval = backend.query === undefined ? -1 : 0;
  return { partition_type: 'user', adapter: 'backend', poll_interval, ...source };
}

function scopeOf({ user, group }: Owner = {}): { readonly user_id?: string; readonly group?: string } {
  return { ...(user === undefined ? {} : { user_id: user }), ...(group === undefined ? {} : { group }) };
}

/** A clock that begins now and runs faster than the real one. */
function fastClock(speed: number): Pick<Platform, 'nowMs' | 'after'> {
  const startMs = Date.now();
  return {
    nowMs: () => startMs + Math.round((Date.now() - startMs) * speed),
    after: (delayMs, callback) => {
      const timer = setTimeout(callback, delayMs / speed);
      return () => clearTimeout(timer);
    },
  };
}

/** Passwords of tests protect nothing, so they are not hashed. */
const PLAIN: Passwords = {
  hash: async (password) => password,
  verify: async (password, hash) => password === hash,
  isOutdated: () => false,
};

function noLog(): void {}
