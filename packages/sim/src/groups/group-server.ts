import {
  type Adapter,
  AdapterRefusal,
  type DevicePull,
  type DevicePullCall,
  type Receipt,
  type Store,
  type Tidemark,
} from '@tidemark/core';
import { type Outcome, Refusal, type Upload } from '@tidemark/protocol';
import { newTidemark, type SettableClock } from '@tidemark/testing/kit';
import { replaced } from '../faults/replaced.ts';
import type { Attributes } from './group-model.ts';
import type { Meanwhile, Moment, Move } from './step.ts';

type DeviceId = { readonly user: string; readonly client: string };

/** The calls of devices and administrators in which a bug can be planted. */
export interface GroupCalls {
  pull(device: DeviceId, call: DevicePullCall): Promise<DevicePull>;
  push(device: DeviceId, upload: Upload): Promise<Outcome>;
  move(move: Move): Promise<number>;
  verdict(client: string, place: readonly [source: string, group: string, id: string]): Promise<string>;
  receipt(source: string, group: string): Promise<Receipt>;
}

/** Runs changes once, in the middle of a call. */
class Interruption {
  #left: { readonly meanwhile: Meanwhile; readonly run: () => Promise<void>; skips: number } | null = null;

  #running: Promise<void> = Promise.resolve();

  set(meanwhile: Meanwhile | null, run: () => Promise<void>): void {
    this.#running = Promise.resolve();
    this.#left = meanwhile === null ? null : { meanwhile, run, skips: meanwhile.skips };
  }

  async at(moment: Moment): Promise<void> {
    const left = this.#left;
    if (left === null || left.meanwhile.at !== moment || left.skips-- > 0) return;
    this.#left = null;
    this.#running = left.run();
    await this.#running;
  }

  /** A call may be refused while its reads, and the changes in the middle of them, are under way. */
  async end(): Promise<void> {
    this.#left = null;
    await this.#running;
  }
}

/** The backend of two sources. It fails for some groups, and refuses uploads when it is told to. */
export class GroupBackend {
  failing: ReadonlySet<string> = new Set();
  isAccepting = true;
  readonly #objects = new Map<string, Map<string, Attributes>>();
  readonly #interruption: Interruption;

  constructor(interruption: Interruption) {
    this.#interruption = interruption;
  }

  put(group: string, id: string, attributes: Attributes): void {
    const objects = this.#objects.get(group) ?? new Map<string, Attributes>();
    this.#objects.set(group, objects.set(id, attributes));
  }

  objects(group: string): ReadonlyMap<string, Attributes> {
    return this.#objects.get(group) ?? new Map();
  }

  adapter(): Adapter {
    const decide = async () => {
      await this.#interruption.at('backend');
      if (!this.isAccepting) throw new AdapterRefusal('rejected', 'the backend refuses it');
    };
    return {
      query: async ({ partition = '' }) => {
        if (this.failing.has(partition)) throw new Refusal('backend_unavailable', 'the backend fails for this group');
        return { objects: Object.fromEntries(this.objects(partition)) };
      },
      create: async ({ id }) => {
        await decide();
        return id;
      },
      update: decide,
      delete: decide,
    };
  }
}

/** A server with three sources of groups, whose calls can be interrupted. */
export class GroupServer implements GroupCalls {
  readonly tidemark: Tidemark;
  readonly clock: SettableClock;
  readonly backend: GroupBackend;
  readonly #interruption: Interruption;

  private constructor(tidemark: Tidemark, clock: SettableClock, backend: GroupBackend, interruption: Interruption) {
    this.tidemark = tidemark;
    this.clock = clock;
    this.backend = backend;
    this.#interruption = interruption;
  }

  static async open(store: Store, plantedStore: (store: Store) => Store = (same) => same): Promise<GroupServer> {
    const interruption = new Interruption();
    const backend = new GroupBackend(interruption);
    const adapter = backend.adapter();
    const { tidemark, clock } = await newTidemark({
      store: plantedStore(interrupted(store, interruption)),
      adapters: { find: () => adapter },
    });
    await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
    await tidemark.sources.declare({ name: 'Task', partition_type: 'group', adapter: 'backend', poll_interval: -1 });
    await tidemark.sources.declare({ name: 'Trip', partition_type: 'group', adapter: 'backend', poll_interval: 0 });
    return new GroupServer(tidemark, clock, backend, interruption);
  }

  /** Does some work, and the changes in the middle of it if it comes to that moment. */
  async during<T>(meanwhile: Meanwhile | null, changes: () => Promise<void>, work: () => Promise<T>): Promise<T> {
    this.#interruption.set(meanwhile, changes);
    try {
      return await work();
    } finally {
      await this.#interruption.end();
    }
  }

  async pull(device: DeviceId, call: DevicePullCall): Promise<DevicePull> {
    const answer = await this.tidemark.devices.pull(device, call);
    await answer.noted;
    return answer;
  }

  async push(device: DeviceId, upload: Upload): Promise<Outcome> {
    const [outcome] = await this.tidemark.devices.push(device, { changes: [upload] });
    if (outcome === undefined) throw new Error('a push answers with an outcome for each upload');
    return outcome;
  }

  async move({ source, group, to, ids }: Move): Promise<number> {
    return (await this.tidemark.objects.move({ source, from: group, to, objects: ids })).moved;
  }

  async verdict(client: string, [source, group, id]: readonly [string, string, string]): Promise<string> {
    return (await this.tidemark.delivery.explain(client, source, id, group)).verdict;
  }

  receipt(source: string, group: string): Promise<Receipt> {
    return this.tidemark.receipts.read({ source, group });
  }

  async objects(source: string, group: string): Promise<ReadonlyMap<string, Attributes>> {
    const objects = await this.tidemark.objects.read({ source, group });
    return new Map(Array.from(objects, ([id, attributes]) => [id, { ...attributes }]));
  }

  /** Deletes the user and creates another one of the same login. */
  async replaceUser(login: string): Promise<void> {
    await this.tidemark.users.delete(login);
    await this.tidemark.users.create({ attributes: { login, password: 'long enough' } });
  }
}

function interrupted(store: Store, interruption: Interruption): Store {
  const after = async <T>(moment: Moment, work: Promise<T>): Promise<T> => {
    const result = await work;
    await interruption.at(moment);
    return result;
  };
  return replaced(store, {
    changedSince: (query) => after('changedSince', store.changedSince(query)),
    readObjects: (...asked) => after('readObjects', store.readObjects(...asked)),
    commit: (commit) => after('commit', store.commit(commit)),
    partition: (key) => after('partition', store.partition(key)),
  });
}
