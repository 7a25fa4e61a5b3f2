import { type Device, type LocalRow, type LocalStore, memoryStore, openDevice, type Platform } from '@tidemark/client';
import { expect, it } from 'vitest';
import { STEP_ROWS } from '../limits.ts';

const OBJECTS = 3 * STEP_ROWS;
/** The last step of one piece of work and the first of the next may be one task. */
const OBJECTS_PER_TASK_MAX = 2 * STEP_ROWS;

/** Counts the objects that are looked at in one task of the thread. */
class TaskMeter {
  readonly #objects = new Set<unknown>();
  most = 0;

  /** A new task begins. */
  next(): void {
    this.#objects.clear();
  }

  /** Returns the object, which is counted whatever is done with it. */
  watched(object: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
    const count = () => {
      this.#objects.add(object);
      this.most = Math.max(this.most, this.#objects.size);
    };
    const trap =
      <A extends readonly unknown[], R>(work: (...args: A) => R) =>
      (...args: A): R => {
        count();
        return work(...args);
      };
    return new Proxy<Readonly<Record<string, number>>>(object, {
      get: trap(Reflect.get),
      has: trap(Reflect.has),
      ownKeys: trap(Reflect.ownKeys),
      getOwnPropertyDescriptor: trap(Reflect.getOwnPropertyDescriptor),
      isExtensible: trap(Reflect.isExtensible),
      preventExtensions: trap(Reflect.preventExtensions),
    });
  }
}

interface Channel {
  readonly name: string;
  readonly onMessage: (message: unknown) => void;
}

/** A thread that tabs of one origin share: every callback and every message is a task of its own. Time does not pass. */
class SharedThread {
  readonly meter = new TaskMeter();
  readonly #channels = new Set<Channel>();
  readonly #waiting: (() => void)[] = [];
  mostRowsSent = 0;
  /** How often a tab has sent its whole state. */
  statesSent = 0;

  readonly platform: Partial<Platform> = {
    after: (delayMs, callback) => {
      if (delayMs === 0) this.task(callback);
      return () => undefined;
    },
    network: { isOnline: () => false, onChange: () => () => undefined },
    tabs: {
      openChannel: (name, onMessage) => {
        const channel = { name, onMessage };
        this.#channels.add(channel);
        return { post: (message) => this.#post(channel, message), close: () => this.#channels.delete(channel) };
      },
      requestLock: (_name, { onHeld }) => {
        this.#waiting.push(onHeld);
        if (this.#waiting.length === 1) this.task(onHeld);
        return () => {
          const [holder] = this.#waiting;
          this.#waiting.splice(this.#waiting.indexOf(onHeld), 1);
          const [next] = this.#waiting;
          if (holder === onHeld && next !== undefined) this.task(next);
        };
      },
    },
  };

  task(callback: () => void): void {
    setImmediate(() => {
      this.meter.next();
      callback();
    });
  }

  #post(from: Channel, message: unknown): void {
    const { type, rows = [] } = message as { readonly type: string; readonly rows?: LocalRow[] };
    this.mostRowsSent = Math.max(this.mostRowsSent, rows.length);
    if (type === 'snapshot') this.statesSent++;
    for (const channel of this.#channels) {
      if (channel !== from && channel.name === from.name) this.task(() => channel.onMessage(message));
    }
  }
}

const SOURCE = { description: { name: 'Order', partition_type: 'user' }, seen: 't', token: 't', staging: null };
const SIGNED_IN: readonly LocalRow[] = [
  {
    table: 'facts',
    key: ['', 'session'],
    value: { token: 't', userId: 'ada', clientId: 'c', givenAtMs: 0, expiresAtMs: 1 },
  },
  { table: 'facts', key: ['', 'owner'], value: { userId: 'ada', clientId: 'c' } },
  { table: 'facts', key: ['', 'last_results'], value: [['Order', 'o1', { n: 1 }]] },
  { table: 'sources', key: ['', 'Order'], value: { ...SOURCE, syncedAtMs: 1, heals: 0 } },
];

/** A store that tabs share. Its objects are new at every load, as those of a database are. */
function sharedStore(thread: SharedThread): LocalStore {
  const kept = memoryStore();
  const load = async (onFirst?: (rows: readonly LocalRow[]) => void) => {
    onFirst?.(SIGNED_IN);
    await new Promise<void>((resolve) => thread.task(resolve));
    const objects = Array.from({ length: OBJECTS }, (_, n): LocalRow => {
      return { table: 'objects', key: ['Order', `o${n}`], value: thread.meter.watched({ n }) };
    });
    return [...SIGNED_IN, ...objects];
  };
  return { sharedAs: 'test', load, commit: (...given) => kept.commit(...given), close: async () => undefined };
}

async function until(condition: () => boolean, thread: SharedThread): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => thread.task(resolve));
}

async function pass(tasks: number, thread: SharedThread): Promise<void> {
  for (let count = 0; count < tasks; count++) await new Promise<void>((resolve) => thread.task(resolve));
}

const open = (thread: SharedThread, start: 'loaded' | 'last_results', store = sharedStore(thread)) =>
  openDevice({ url: 'http://tidemark.test', store, platform: thread.platform, start });

const countOf = (device: Device) => device.source('Order').query().count();

for (const start of ['loaded', 'last_results'] as const) {
  it(`[TABS-7] tabs that start with ${start} load, show, send and take over many objects in steps, and so does one that begins to lead`, async () => {
    const thread = new SharedThread();
    const openTab = async () => {
      const device = await open(thread, start);
      device.source('Order').get('o0');
      await until(() => !device.status.getSnapshot().isLoading, thread);
      expect(thread.meter.most).toBeLessThanOrEqual(OBJECTS_PER_TASK_MAX);
      // The app asks for all objects, which is a task of its own.
      expect(countOf(device)).toBe(OBJECTS);
      const ids = device
        .source('Order')
        .list()
        .map(({ id }) => id);
      expect(ids).toEqual([...ids].sort());
      thread.meter.most = 0;
      return device;
    };
    const [first, second] = [await openTab(), await openTab()];
    expect(thread.mostRowsSent).toBe(STEP_ROWS);
    await first.close();
    await until(() => second.status.getSnapshot().tab === 'leader', thread);
    expect(thread.meter.most).toBeLessThanOrEqual(OBJECTS_PER_TASK_MAX);
    expect(countOf(second)).toBe(OBJECTS);
    await second.close();
  });
}

/** Far more tasks than a tab needs to load the store and to lead. */
const ENOUGH_TASKS = 200;

it('[TABS-2] a tab that gets the lead while it takes over a state is open when it leads, with what the store holds', async () => {
  const thread = new SharedThread();
  const first = await open(thread, 'loaded');
  const store = sharedStore(thread);
  const load = async () => {
    await pass(ENOUGH_TASKS, thread);
    return store.load();
  };
  const opening = open(thread, 'loaded', { ...store, load });
  await until(() => thread.statesSent === 1, thread);
  await first.close();
  const second = await opening;
  expect([second.status.getSnapshot().tab, countOf(second)]).toEqual(['leader', OBJECTS]);
  await second.close();
});

it('[TABS-2] a tab that cannot load the store when it is to lead leaves that to another tab at once', async () => {
  const thread = new SharedThread();
  const load = () => Promise.reject(new Error('the disk is broken'));
  const first = await open(thread, 'loaded');
  const second = await open(thread, 'loaded', { ...sharedStore(thread), load });
  const third = await open(thread, 'loaded');
  await first.close();
  await pass(ENOUGH_TASKS, thread);
  expect([second, third].map(({ status }) => status.getSnapshot().tab)).toEqual(['follower', 'leader']);
  await Promise.all([second.close(), third.close()]);
});
