import { createHash } from 'node:crypto';
import { type CollectPosition, type CollectReport, type FileBytes, refs, type Store, Tidemark } from '@tidemark/core';
import { DEFAULT_LIMITS, parseJson } from '@tidemark/protocol';
import { type MemoryFileBytes, memoryFileBytes, openMemoryStore, seededRandom } from '@tidemark/testing/kit';
import { delayedStore } from '../faults/delayed-store.ts';
import { PLAIN_PASSWORDS, SILENT_LOG } from '../model/core-parts.ts';
import { GRACE_MS, GROUPS, type Place, type Sending, SIZE, USERS, type Written } from './step.ts';

/** Where a bug can be planted. */
export interface FilePlant {
  /** A new store of another engine. Absent: one in memory. */
  readonly empty?: Store;
  readonly store?: (store: Store) => Store;
  readonly bytes?: (bytes: FileBytes) => FileBytes;
  readonly mayRead?: (mayRead: FileServer['mayRead']) => FileServer['mayRead'];
  readonly graceMs?: number;
}

/** The server is killed at this moment. */
class Killed extends Error {}

const FIRST_DAY_MS = 1_700_000_000_000;
const PORTIONS_MAX = 200;
const WEEK_MS = 7 * GRACE_MS;
const NO_QUOTA = 2 ** 40;

function hashOf(file: string): string {
  return createHash('sha256').update(file).digest('hex');
}

/** The core with an engine that keeps no bytes, both of which survive a kill. */
export class FileServer {
  readonly clock = { ms: FIRST_DAY_MS, nowMs: () => this.clock.ms };
  readonly bytes: MemoryFileBytes;
  readonly #plain: Store;
  readonly #engine: FileBytes;
  readonly #plant: FilePlant;
  readonly #random: ReturnType<typeof seededRandom>;
  #delaySeed = 0;
  #tidemark: Tidemark;
  #ops = 0;
  readonly #clients = new Map<string, string>();
  mayRead: (user: string, file: string) => Promise<boolean>;

  constructor(seed: number, plant: FilePlant) {
    this.#plant = plant;
    this.#random = seededRandom(seed + 1);
    this.#plain = plant.empty ?? openMemoryStore({ random: this.#random });
    this.bytes = memoryFileBytes(this.clock);
    this.#engine = plant.bytes?.(this.bytes) ?? this.bytes;
    this.#tidemark = this.#start();
    const mayRead: FileServer['mayRead'] = async (user, file) =>
      (await this.#tidemark.files.mayRead(user, hashOf(file))) !== null;
    this.mayRead = plant.mayRead?.(mayRead) ?? mayRead;
  }

  async open(): Promise<void> {
    await this.#tidemark.sources.declare({ name: 'Own', partition_type: 'user' });
    await this.#tidemark.sources.declare({ name: 'All', partition_type: 'app' });
    await this.#declareTeam();
    for (const user of USERS) {
      await this.#createUser(user);
      await this.setGroups(user, GROUPS);
    }
  }

  /** Other calls overtake each other in the order of the seed while this one works. */
  async during(delaySeed: number, work: () => Promise<void>): Promise<void> {
    this.#delaySeed = delaySeed;
    await work();
    this.#delaySeed = 0;
  }

  async push({ place, object, file }: Written): Promise<void> {
    const call = callOf(place);
    if (file === null) await this.#tidemark.objects.pushDeletes({ ...call, objects: [object] });
    else await this.#tidemark.objects.push({ ...call, objects: { [object]: { file: referenceTo(file) } } });
  }

  async write(user: string, { place, object, file }: Written, exists: boolean): Promise<string> {
    const client = this.#clients.get(user) ?? '';
    const { source, ...group } = callOf(place);
    const op = file === null ? 'delete' : exists ? 'update' : 'create';
    const whose = 'group' in group ? { group: group.group } : {};
    const attributes = file === null ? {} : { attributes: { file: referenceTo(file) } };
    const change = { op_id: `op${++this.#ops}`, source, op, id: object, ...whose, ...attributes } as const;
    const [outcome] = await this.#tidemark.devices.push({ user, client }, { changes: [change] });
    return outcome?.status ?? 'none';
  }

  /** Returns what the sender knows at the end. */
  async send(user: string | null, file: string, upTo: Sending): Promise<'present' | 'stored' | 'killed'> {
    const by = user === null ? ({ kind: 'backend' } as const) : ({ kind: 'user', login: user } as const);
    const arrival = { sha256: hashOf(file), size: SIZE, by };
    const { files } = this.#tidemark;
    const isPresent = (await files.begin(arrival)) === 'present';
    if (isPresent && this.bytes.files.has(arrival.sha256)) return 'present';
    if (upTo !== 'begun') await files.arriving(arrival);
    if (upTo === 'durable' || upTo === 'whole') this.bytes.put(arrival.sha256, SIZE);
    if (upTo !== 'whole') return this.#kill();
    await files.stored(arrival);
    return 'stored';
  }

  setGroups(user: string, groups: readonly string[]): Promise<unknown> {
    return this.#tidemark.groups.set(user, groups);
  }

  async replaceUser(user: string): Promise<void> {
    await this.#tidemark.users.delete(user);
    await this.#createUser(user);
  }

  async dropTeam(): Promise<void> {
    await this.#tidemark.sources.drop('Team');
    await this.#declareTeam();
  }

  /** Runs a round of the collector, unless the server is killed in a removal. */
  async collect(killAt: 'aside' | 'answer' | null): Promise<void> {
    const dies = (at: 'aside' | 'answer') => async () => {
      if (killAt === at) throw new Killed();
    };
    this.bytes.onAside = dies('aside');
    this.bytes.onAnswer = dies('answer');
    try {
      let position: CollectPosition | undefined;
      for (let portions = 0; portions < PORTIONS_MAX; portions++) {
        const report: CollectReport = await this.#tidemark.files.collect(this.#engine, { position, itemsMax: 2 });
        if (report.next === null) return;
        position = report.next;
      }
      throw new Error('a round of the collector does not end');
    } catch (error) {
      if (!(error instanceof Killed)) throw error;
      this.#kill();
      // The next leader begins a round at once.
      this.bytes.onAside = async () => undefined;
      this.bytes.onAnswer = async () => undefined;
      await this.#tidemark.files.collect(this.#engine, { itemsMax: 1 });
    }
  }

  async isStored(file: string): Promise<boolean> {
    const sha256 = hashOf(file);
    const view = await this.#tidemark.files.find(sha256);
    return view?.is_stored === true && this.bytes.files.has(sha256);
  }

  /** Whether the engine has any bytes of the file. */
  hasBytes(file: string): boolean {
    return this.bytes.files.has(hashOf(file)) || this.bytes.aside.has(hashOf(file));
  }

  async bytesSent(user: string): Promise<number> {
    const entry = await this.#plain.readEntry(refs.fileUsage(user));
    return entry === null ? 0 : (parseJson(entry.value) as { readonly bytes: number }).bytes;
  }

  #start(): Tidemark {
    const { graceMs = GRACE_MS } = this.#plant;
    return new Tidemark({
      store: delayedStore(this.#plant.store?.(this.#plain) ?? this.#plain, () => this.#delaySeed),
      ...{ clock: this.clock, random: this.#random, passwords: PLAIN_PASSWORDS, log: SILENT_LOG },
      limits: DEFAULT_LIMITS,
      fileRules: { graceMs, quotaBytes: NO_QUOTA, uploadExpiresMs: WEEK_MS },
    });
  }

  #kill(): 'killed' {
    this.#tidemark = this.#start();
    return 'killed';
  }

  async #createUser(user: string): Promise<void> {
    await this.#tidemark.users.create({ attributes: { login: user, password: 'long enough' } });
    this.#clients.set(user, (await this.#tidemark.clients.register(user, {})).client_id);
  }

  async #declareTeam(): Promise<void> {
    await this.#tidemark.sources.declare({ name: 'Team', partition_type: 'group' });
  }
}

function referenceTo(file: string) {
  return { $file: { sha256: hashOf(file), size: SIZE, type: 'image/jpeg' } };
}

function callOf(place: Place): { source: string; user_id?: string; group?: string } {
  if (place.kind === 'user') return { source: 'Own', user_id: place.user };
  return place.kind === 'group' ? { source: 'Team', group: place.group } : { source: 'All' };
}
