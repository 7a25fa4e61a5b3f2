import {
  ACKNOWLEDGED_PER_CALL_MAX,
  type Limits,
  type Outcome,
  PULL_SOURCES_MAX,
  pointer,
  Refusal,
  type SyncSource,
  type Trouble,
  UPLOADS_PER_PUSH_MAX,
  type Upload,
} from '@tidemark/protocol';
import { callFor, lifeGuard } from '../admission/admit-write.ts';
import type { BuiltPage } from '../pages/built-page.ts';
import { noteTidemark, TIDEMARK_NOTE_EVERY_MS } from '../pages/note-tidemark.ts';
import type { PageCache } from '../pages/page-cache.ts';
import { type Glance, glance, glanceAt, type PageBounds, pull, withoutNews } from '../pages/pull.ts';
import { readToken } from '../pages/token.ts';
import type { Adapter, Adapters } from '../ports/adapter.ts';
import type { Clock } from '../ports/clock.ts';
import type { Jobs, LeasedJob } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { Guard, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../registry/clients.ts';
import type { DeviceId } from '../registry/device-id.ts';
import type { Place } from '../registry/memberships.ts';
import type { Sources, SourceView } from '../registry/sources.ts';
import type { Users } from '../registry/users.ts';
import { admitOpId } from '../uploads/admit-upload.ts';
import type { UploadJob } from '../uploads/backend-uploads.ts';
import type { UploadTarget } from '../uploads/upload-target.ts';
import { Uploads } from '../uploads/uploads.ts';
import { acknowledgedObjects } from './acknowledged-objects.ts';
import { type Cursor, cursorsOf } from './cursors.ts';
import { LatelyNoted } from './lately-noted.ts';
import { pageBounds } from './page-bounds.ts';
import { type NoPage, type RenderedPage, rendered } from './rendered-page.ts';
import { ShareOut } from './share-out.ts';

export interface DevicesParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly users: Users;
  readonly clients: Clients;
  readonly sources: Sources;
  readonly cache: PageCache;
  readonly refresher: Pick<Refresher, 'ensureFresh'>;
  readonly isSearchable: (source: SourceView) => boolean;
  /** Absent: sources are only pushed to, whatever they say. */
  readonly adapters?: Adapters;
  readonly jobs?: Pick<Jobs, 'enqueueAll'>;
  readonly count: (metric: string, tookMs: number) => void;
  readonly onOutcome: (device: DeviceId) => void;
  readonly onCommitted: (partition: PartitionKey) => void;
}

export interface DevicePull {
  readonly pages: readonly { readonly source: string; readonly page: RenderedPage | NoPage }[];
  readonly outcomes: readonly Outcome[];
  /** Resolves when what the device presented is noted. It is a hint for trimming: nobody has to wait for it. */
  readonly noted: Promise<void>;
}

/** Op ids by source. */
export type Acknowledged = ReadonlyMap<string, readonly string[]>;

export interface DevicePullCall {
  /** Source → the token the device holds; null: none. */
  readonly sources: ReadonlyMap<string, string | null>;
  readonly objectsMax?: number;
  readonly acknowledged?: Acknowledged;
}

export interface DevicePageCall {
  readonly source: string;
  readonly token: string | null;
  readonly objectsMax?: number;
  readonly unitsMax?: number;
}

export interface DevicePushCall {
  readonly changes: readonly Upload[];
  readonly acknowledged?: Acknowledged;
}

/** What is read of a source before it is known to be as it was. */
interface Guess {
  readonly partition: PartitionKey;
  readonly waiting: Promise<readonly Outcome[]>;
  readonly state: Promise<PartitionState>;
}

/** One source of a pull, as it was found. */
interface Found {
  readonly source: string;
  /** What the device presented. */
  readonly token: string | null;
  /** Null: there is no such source, or nobody can tell where the user's data is. */
  readonly place: Place | null;
  /** Null: not asked for yet. */
  readonly waiting: Promise<readonly Outcome[]> | null;
  /** Null: there is nothing to give, for the reason in `error`. */
  readonly state: PartitionState | null;
  readonly error: Trouble | null;
}

/** The same with what the device's token means there. */
type Looked =
  | { readonly source: string; readonly seen: null; readonly error: Trouble }
  /** With `error`, the backend could not be asked: what is there is given all the same. */
  | { readonly source: string; readonly seen: Glance; readonly error: Trouble | null };

/** What there is to send of a source that could be looked at. */
interface Built {
  readonly seen: Glance;
  readonly page: BuiltPage;
}

/** What devices ask for, each on behalf of its user and never of another. */
export class Devices {
  readonly #parts: DevicesParts;
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #latelyNoted = new LatelyNoted(TIDEMARK_NOTE_EVERY_MS);

  constructor(parts: DevicesParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#uploads = new Uploads(parts);
  }

  /** What the device is missing, of all sources in one answer. A source that cannot be pulled does not spoil the others. */
  async pull(device: DeviceId, call: DevicePullCall): Promise<DevicePull> {
    requireCount(call.sources.size, PULL_SOURCES_MAX, 'sources');
    const bounds = pageBounds(this.#parts.limits, call);
    const whose = this.#parts.clients.own(device.user, device.client);
    if (call.acknowledged !== undefined && call.acknowledged.size > 0) {
      await whose;
      await this.#acknowledge(device, call.acknowledged);
    }
    // Backends are asked all at once: none has to wait for another. The same for a store that is a server of its own.
    const [own, ...found] = await Promise.all([
      whose,
      ...[...call.sources].map(([source, token]) => this.#find(device, source, token)),
    ]);
    const looked = found.map((one) => lookedAt(one, own));
    const built = await this.#build(looked, bounds);
    const outcomes = await this.#waiting(device, found);
    const pages = looked.map((one, index) => ({ source: one.source, page: pageOf(one, built[index] ?? null) }));
    return { pages, outcomes, noted: this.#noteAll(device, own, built) };
  }

  /** One page of one source, whatever its sync type. */
  async page(device: DeviceId, call: DevicePageCall): Promise<RenderedPage> {
    const bounds = pageBounds(this.#parts.limits, call);
    const own = await this.#parts.clients.own(device.user, device.client);
    const source = await this.#parts.sources.view(call.source);
    const { partition } = await this.#parts.sources.memberships.placeOf(source, device.user);
    const trouble = await this.#freshen(partition, source, call.token);
    const seen = await this.#glance(partition, own, call.token);
    const built = await pull(this.#store, seen, bounds, this.#parts.cache);
    void this.#noteAll(device, own, [{ seen, page: built }]);
    return rendered(seen, built, trouble);
  }

  /** Applies what the device has changed; the outcomes in the order of the changes. */
  async push(device: DeviceId, { changes, acknowledged }: DevicePushCall): Promise<readonly Outcome[]> {
    requireCount(changes.length, UPLOADS_PER_PUSH_MAX, 'changes');
    for (const [index, { op_id }] of changes.entries()) admitOpId(op_id, pointer('changes', index, 'op_id'));
    await this.#parts.clients.own(device.user, device.client);
    await this.#acknowledge(device, acknowledged);
    const outcomes: Outcome[] = [];
    for (const places of await this.#runsOf(changes)) {
      const uploads = places.map((index) => changes[index] as Upload);
      const told = await this.#apply(device, uploads[0]?.source ?? '', uploads);
      for (const [at, index] of places.entries()) outcomes[index] = told[at] as Outcome;
    }
    return outcomes;
  }

  /** Runs the job of an upload that was left to a queue. */
  async runUpload(job: LeasedJob): Promise<void> {
    const { source, user, client, owner } = JSON.parse(job.payload) as UploadJob;
    const place = owner === undefined ? undefined : { partition: { source, user: owner }, earlier: [] };
    const target = await this.#ownTarget({ user, client }, source, place).catch((error: unknown) => {
      if (!GONE.has(troubleOf(error).code)) throw error;
      this.#parts.log.warn('upload_dropped', { source, reason: troubleOf(error).detail });
      return null;
    });
    return this.#uploads.run(job, target);
  }

  async #ownTarget(device: DeviceId, source: string, place?: Place): Promise<UploadTarget> {
    await this.#parts.clients.own(device.user, device.client);
    return this.#target(device, source, place);
  }

  /**
   * Places of changes that are applied together. All of a source can be, as long as nobody gives objects other names;
   * where a backend does, what names an object must come after what makes it, whatever their sources are.
   */
  async #runsOf(changes: readonly Upload[]): Promise<readonly (readonly number[])[]> {
    const bySource = new Map<string, number[]>();
    const inOrder: number[][] = [];
    for (const [index, { source }] of changes.entries()) {
      bySource.set(source, [...(bySource.get(source) ?? []), index]);
      const last = inOrder.at(-1);
      if (last !== undefined && changes[last[0] ?? 0]?.source === source) last.push(index);
      else inOrder.push([index]);
    }
    const { sources, adapters } = this.#parts;
    const areAlone = adapters === undefined || (await sources.list()).every(({ adapter }) => adapter === NO_ADAPTER);
    return areAlone || bySource.size === 1 ? [...bySource.values()] : inOrder;
  }

  /** The device starts over at its next pull, whatever token it presents. Answers the sources. */
  async restart(device: DeviceId, names?: readonly string[]): Promise<readonly string[]> {
    await this.#parts.clients.own(device.user, device.client);
    const sources =
      names === undefined
        ? await this.#parts.sources.list()
        : await Promise.all([...new Set(names)].map((name) => this.#parts.sources.view(name)));
    const meant = sources.map(({ name }) => name);
    await this.#parts.clients.restart(device.user, device.client, meant);
    for (const source of sources) await this.#forgetPlace(device, source);
    return meant;
  }

  /** How far the device has come, by source. */
  async cursors(device: DeviceId): Promise<Readonly<Record<string, Cursor>>> {
    const partitions: { readonly source: SourceView; readonly partition: PartitionKey }[] = [];
    for (const source of await this.#parts.sources.list()) {
      partitions.push({ source, partition: await this.#knownPartition(source, device) });
    }
    return cursorsOf(this.#store, device.client, partitions);
  }

  /** What the device has acknowledged of a source: the document `cd`. */
  async acknowledgedObjects(device: DeviceId, source: string): Promise<ReadonlyMap<string, string>> {
    const partition = await this.#knownPartition(await this.#parts.sources.view(source), device);
    return acknowledgedObjects(this.#store, partition, device.client);
  }

  async sources(): Promise<readonly SyncSource[]> {
    const { sources, isSearchable } = this.#parts;
    return (await sources.list()).map((source) => syncSourceOf(source, isSearchable(source)));
  }

  async #find(device: DeviceId, name: string, token: string | null): Promise<Found> {
    const guess = this.#guess(device, name);
    try {
      const source = await this.#parts.sources.view(name);
      const place = await this.#parts.sources.memberships.placeOf(source, device.user);
      const guessed = guess !== null && isRight(guess, source, place) ? guess : null;
      const waiting = guessed?.waiting ?? null;
      if (source.sync_type === 'bulk_only') {
        return { source: name, token, place, waiting, state: null, error: troubleOf(snapshotRequired(name)) };
      }
      const error = await this.#freshen(place.partition, source, token);
      const state = await (guessed?.state ?? this.#store.partition(place.partition));
      return { source: name, token, place, waiting, state, error };
    } catch (error) {
      return { source: name, token, place: null, waiting: null, state: null, error: troubleOf(error) };
    }
  }

  /**
   * Begins to read what is wanted if the source is still what it was, without waiting to hear that it is: on a store that
   * is a server of its own, a pull is then one round trip. Outcomes are read before the state, which so holds what they
   * tell of. Null: there is nothing to guess by, or a backend must be asked first.
   */
  #guess({ user, client }: DeviceId, source: string): Guess | null {
    const known = this.#parts.sources.lastSeen(source);
    if (known === null || known.adapter !== NO_ADAPTER) return null;
    const partition: PartitionKey = { source, user: known.partition_type === 'app' ? null : user };
    const waiting = this.#uploads.waiting({ source, client, partition, earlier: [] });
    const state = this.#store.partition(partition);
    // A guess that was wrong is nobody's business, and one that was right is waited for.
    for (const read of [waiting, state]) read.catch(() => undefined);
    return { partition, waiting, state };
  }

  /** A device that is only half-way through its pages goes on with what there was when it began. */
  #freshen(partition: PartitionKey, { adapter }: SourceView, token: string | null): Promise<Trouble | null> {
    if (adapter === NO_ADAPTER || (token !== null && isHalfWay(token))) return Promise.resolve(null);
    return this.#parts.refresher.ensureFresh(callFor(partition));
  }

  #glance(partition: PartitionKey, own: OwnDevice, token: string | null): Promise<Glance> {
    const restarts = own.restarts.get(partition.source) ?? 0;
    return glance(this.#store, { partition, token, restarts });
  }

  /** Null where a source could not be looked at. */
  async #build(looked: readonly Looked[], bounds: PageBounds): Promise<readonly (Built | null)[]> {
    const share = new ShareOut(bounds, looked.filter(({ seen }) => seen?.hasNews === true).length);
    const built: (Built | null)[] = [];
    for (const { seen } of looked) {
      if (seen === null) built.push(null);
      else if (!seen.hasNews) built.push({ seen, page: withoutNews(seen) });
      else {
        const page = await pull(this.#store, seen, share.next(), this.#parts.cache);
        share.used({ entries: page.entries, units: page.body.units });
        built.push({ seen, page });
      }
    }
    return built;
  }

  async #waiting(device: DeviceId, found: readonly Found[]): Promise<readonly Outcome[]> {
    // All at once: on a store that is a server of its own, that is one round trip instead of one for each source.
    const waiting = found.map(({ source, place, waiting: guessed }) => {
      // Also of a source that is not given in pages: what is uploaded to it has outcomes like any other.
      return place === null ? [] : (guessed ?? this.#uploads.waiting({ source, client: device.client, ...place }));
    });
    return (await Promise.all(waiting)).flat();
  }

  async #apply(device: DeviceId, name: string, uploads: readonly Upload[]): Promise<readonly Outcome[]> {
    try {
      return await this.#uploads.apply(await this.#target(device, name, await this.#askedPlace(device, name)), uploads);
    } catch (error) {
      const { code, detail } = troubleOf(error);
      // Only what concerns this source alone: whatever else is wrong is wrong with the whole call.
      if (code !== 'source_not_found' && code !== 'invalid_name') throw error;
      return uploads.map(({ op_id, id }) => {
        return { op_id, source: name, status: 'rejected', id, error: { code, detail }, current: null };
      });
    }
  }

  async #acknowledge(device: DeviceId, acknowledged: Acknowledged = new Map()): Promise<void> {
    requireCount([...acknowledged.values()].flat().length, ACKNOWLEDGED_PER_CALL_MAX, 'acknowledged');
    for (const [name, opIds] of acknowledged) {
      for (const [index, opId] of opIds.entries()) admitOpId(opId, pointer('acknowledged', name, index));
    }
    for (const [name, opIds] of acknowledged) {
      // Of a source that is gone, nothing is remembered any more.
      if (opIds.length > 0 && (await this.#parts.sources.has(name))) {
        await this.#uploads.acknowledge(await this.#target(device, name), opIds);
      }
    }
  }

  /** Where the user is now: nobody writes to, or is told of, where they are no longer. */
  async #askedPlace({ user }: DeviceId, name: string): Promise<Place> {
    return this.#parts.sources.memberships.placeOf(await this.#parts.sources.view(name), user);
  }

  async #knownPartition(source: SourceView, { user }: DeviceId): Promise<PartitionKey> {
    return (await this.#parts.sources.memberships.knownPlaceOf(source, user)).partition;
  }

  /** Without a place, the one where the user was last seen. */
  async #target(device: DeviceId, name: string, place?: Place): Promise<UploadTarget> {
    const { user, client } = device;
    const source = await this.#parts.sources.view(name);
    const life = await this.#parts.users.lifeOf(user);
    if (life === null) throw new Refusal('user_not_found', 'the user of this device is gone');
    const guards: Guard[] = [
      { kind: 'source', key: [name] },
      { kind: 'user_client', key: [user, client] },
      lifeGuard(user, life),
    ];
    const { conflicts, read_only: isReadOnly, cud_queue, queue } = source;
    return {
      source: name,
      client,
      user,
      ...(place ?? (await this.#parts.sources.memberships.knownPlaceOf(source, user))),
      conflicts,
      isReadOnly,
      references: await this.#referenced(source, device),
      adapter: adapterOf(this.#parts.adapters, source),
      queue: cud_queue ?? queue,
      guards,
    };
  }

  /** A source that is not there yet has no objects to name. */
  async #referenced({ references }: SourceView, device: DeviceId): Promise<ReadonlyMap<string, PartitionKey>> {
    const { sources } = this.#parts;
    const partitions = new Map<string, PartitionKey>();
    for (const [attribute, name] of Object.entries(references)) {
      const source = await sources.find(name);
      if (source !== null) partitions.set(attribute, await this.#knownPartition(source, device));
    }
    return partitions;
  }

  /** Remembers that the device was here, and what it presented, unless that is known well enough. */
  async #noteAll(device: DeviceId, own: OwnDevice, built: readonly (Built | null)[]): Promise<void> {
    const nowMs = this.#parts.clock.nowMs();
    const notes: Promise<void>[] = [];
    for (const one of built) {
      if (one !== null && !this.#isNoted(device, one.seen, nowMs)) notes.push(this.#note(device, one, nowMs));
    }
    if (own.lastSyncMs === null || nowMs - own.lastSyncMs >= LAST_SYNC_EVERY_MS) {
      notes.push(this.#parts.clients.noteSync(device.client, nowMs).catch(this.#onNoteFailed));
    }
    if (notes.length > 0) await Promise.all(notes);
  }

  #isNoted({ client }: DeviceId, { partition, presented, hasNews }: Glance, nowMs: number): boolean {
    return presented !== null && !hasNews && this.#latelyNoted.has(client, partition.source, presented, nowMs);
  }

  async #note({ client }: DeviceId, { seen, page }: Built, nowMs: number): Promise<void> {
    const { partition, presented, hasNews } = seen;
    try {
      await noteTidemark(this.#store, partition, { client, start: page.start, given: page.token, nowMs });
      if (presented !== null && !hasNews) this.#latelyNoted.add(client, partition.source, presented, nowMs);
    } catch (error) {
      this.#onNoteFailed(error);
    }
  }

  /** It has acknowledged nothing any more; what it will need is what is deleted from now on. */
  async #forgetPlace(device: DeviceId, source: SourceView): Promise<void> {
    const partition = await this.#knownPartition(source, device);
    if ((await this.#store.readTidemark(partition, device.client)) === null) return;
    const { epoch, head } = await this.#store.partition(partition);
    const mark = { client: device.client, epoch, seq: 0, base: null, start: head, seenAtMs: this.#parts.clock.nowMs() };
    await this.#store.noteTidemark(partition, mark, [{ kind: 'client', key: [device.client] }]);
  }

  readonly #onNoteFailed = (error: unknown): void => {
    this.#parts.log.warn('tidemark_not_noted', { reason: error instanceof Error ? error.message : String(error) });
  };
}

const NO_ADAPTER = 'none';
const GONE: ReadonlySet<string> = new Set(['source_not_found', 'user_not_found', 'client_not_found']);

/** Who must agree to uploads. A source whose adapter is missing waits for it: nobody else may agree in its place. */
function adapterOf(adapters: Adapters | undefined, { adapter }: SourceView): Adapter | null {
  if (adapters === undefined || adapter === NO_ADAPTER) return null;
  return adapters.find(adapter) ?? ABSENT;
}

function absent(): Promise<never> {
  return Promise.reject(new Refusal('backend_unavailable', 'the source names an adapter that is not there'));
}

const ABSENT: Adapter = { query: absent, create: absent, update: absent, delete: absent };

function isRight({ partition }: Guess, source: SourceView, place: Place): boolean {
  return source.adapter === NO_ADAPTER && partition.user === place.partition.user;
}

function lookedAt({ source, token, place, state, error }: Found, own: OwnDevice): Looked {
  if (place === null || state === null) return { source, seen: null, error: error as Trouble };
  const restarts = own.restarts.get(source) ?? 0;
  return { source, error, seen: glanceAt(state, { partition: place.partition, token, restarts }) };
}

function pageOf({ error }: Looked, built: Built | null): RenderedPage | NoPage {
  return built === null ? { error: error as Trouble } : rendered(built.seen, built.page, error);
}

function isHalfWay(text: string): boolean {
  const token = readToken(text);
  return token !== null && (token.foothold.kind === 'start' || token.foothold.seq !== token.seq);
}

function syncSourceOf(source: SourceView, searchable: boolean): SyncSource {
  const { name, partition_type, sync_type, conflicts, read_only, references } = source;
  return { name, partition_type, sync_type, conflicts, read_only, references, searchable };
}

function snapshotRequired(name: string): Refusal {
  const path = `/sync/v1/sources/${encodeURIComponent(name)}/snapshot`;
  return new Refusal('snapshot_required', `${JSON.stringify(name)} is not given in pages: fetch ${path}`);
}

/** What is not a refusal is a fault of ours, and not of the source. */
function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Refusal)) throw error;
  return { code: error.code, detail: error.message };
}

function requireCount(count: number, max: number, field: string): void {
  if (count <= max) return;
  const detail = `${count} are more than the ${max} allowed`;
  throw new Refusal('limit_exceeded', `${field}: ${detail}`, [{ pointer: pointer(field), detail }]);
}
