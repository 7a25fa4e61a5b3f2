import {
  type Commit,
  type CommitResult,
  type DeviceTidemark,
  type DocumentKey,
  type DocumentScope,
  type DocumentWrite,
  type EngineDescription,
  type Entry,
  type EntryBatch,
  type EntryKind,
  type EntryList,
  type EntryRef,
  type Finding,
  type Guard,
  type Jobs,
  type JoinedSlice,
  type JournalRange,
  type JournalSlice,
  joinedSlice,
  type MovableStore,
  type Note,
  type NoteList,
  type NoteRef,
  type ObjectsRead,
  type PartitionKey,
  type PartitionState,
  type Piece,
  type RecordReader,
  type Seal,
  type StatRow,
  type StoredDocument,
  type StoreLife,
  type WriteResult,
} from '@tidemark/core/ports';
import { ADDRESS_RULE, type Address, readAddress, shownAddress } from './address.ts';
import { commit } from './commit.ts';
import { documentNames, readDocument, writeDocument } from './documents.ts';
import { type Durability, judge, readSetups, unfitness } from './durability.ts';
import { countEntries, listEntries, readEntry, writeEntries } from './entries.ts';
import { exportStore } from './export.ts';
import { newWord } from './facts.ts';
import { unavailable } from './failure.ts';
import { EVERYTHING, entryField } from './guards.ts';
import { importPieces } from './import.ts';
import { ValkeyJobs, type ValkeyJobsOptions } from './jobs/valkey-jobs.ts';
import { readJournal, readObjects } from './journal.ts';
import { placeOf } from './keys.ts';
import { Layout } from './layout.ts';
import { Link, type LinkEvent } from './link.ts';
import { listPartitions } from './listing.ts';
import { listArgs } from './lists.ts';
import { listNotes, readNotes } from './notes.ts';
import { type Opening, prepareLife, readLife, readSeal, sealText } from './opening.ts';
import { stateFrom } from './partitions.ts';
import { Places } from './places.ts';
import { listOf, textOf } from './reply.ts';
import { trimScript } from './scripts/commit.ts';
import { noteTidemarkScript, tidemarksScript } from './scripts/devices.ts';
import { sealScript, takeLifeScript } from './scripts/moving.ts';
import { stateScript } from './scripts/read.ts';
import { resetScript } from './scripts/registry.ts';
import { addStats, readStats, statNames, trimStats } from './stats.ts';
import { strayKeys } from './strays.ts';
import { behindMark, markMember, markRange, readMark } from './tidemarks.ts';
import { verifyPartition } from './verify.ts';

export interface ValkeyOptions {
  /** Such as `valkey://host:6379` or `valkey+cluster://host:7000,host:7001`. */
  readonly address: string;
  /** Over what the address says. */
  readonly login?: string;
  readonly password?: string;
  /** For the sentinels, where the address names some. */
  readonly sentinelLogin?: string;
  readonly sentinelPassword?: string;
  /** Begins every key, so that several stores may share a server. */
  readonly prefix?: string;
  /** How long the server may take to answer one step. */
  readonly answerMs?: number;
  /** Replicas that must have a write before it is acknowledged. */
  readonly confirmReplicas?: number;
  /** Whether a write must be on the disk of the primary, and of those replicas, before it is acknowledged. */
  readonly isConfirmedOnDisk?: boolean;
  /** Refuses to open a store that could lose what it has acknowledged. */
  readonly isDurabilityRequired?: boolean;
  /** Tombstones, or rows of statistics, forgotten in one step. */
  readonly trimStepMax?: number;
  /** How often erasures that somebody else began and did not finish are looked for. */
  readonly sweepEveryMs?: number;
  /** Told of connections lost and found again. */
  readonly onEvent?: (event: LinkEvent) => void;
  /** Absent: as a server does. */
  readonly opening?: Opening;
}

export const PREFIX = 'tidemark:';
const SWEEP_EVERY_MS = 10_000;
const TRIM_STEP_MAX = 10_000;
const PARTITIONS_PER_READ = 1_000;

/** The store is not set up the way it must be. */
export class UnusableServer extends Error {
  override readonly name = 'UnusableServer';
}

export async function openValkeyStore(options: ValkeyOptions): Promise<ValkeyStore> {
  const [store] = await openValkeyStores(options, [options.prefix ?? PREFIX]);
  if (store === undefined) throw new Error('no store was opened');
  return store;
}

/**
 * Several stores that share one connection, each with a prefix of its own: what they ask at once travels together. The
 * connection ends with the last of them.
 */
export async function openValkeyStores(
  options: Omit<ValkeyOptions, 'prefix'>,
  prefixes: readonly string[],
): Promise<readonly ValkeyStore[]> {
  const { link, engine } = await openGround(options, connectionName(prefixes[0] ?? PREFIX));
  let open = prefixes.length;
  const release = () => {
    open -= 1;
    if (open === 0) link.close();
  };
  try {
    return await Promise.all(prefixes.map((prefix) => storeOn({ link, engine, release }, new Layout(prefix), options)));
  } catch (error) {
    link.close();
    throw error;
  }
}

/** What stores stand on. */
interface Ground {
  readonly link: Link;
  readonly engine: EngineDescription;
  /** Called by each store when it closes. */
  readonly release: () => void;
}

async function storeOn(ground: Ground, layout: Layout, options: Omit<ValkeyOptions, 'prefix'>): Promise<ValkeyStore> {
  await prepare(ground.link, layout, options);
  const { opening = { as: 'server' }, sweepEveryMs = SWEEP_EVERY_MS, trimStepMax = TRIM_STEP_MAX } = options;
  const store = new ValkeyStore(ground, layout, { trimStepMax, opening });
  if (opening.as === 'server') store.sweepEvery(sweepEveryMs);
  return store;
}

async function openGround(options: ValkeyOptions, name: string): Promise<Omit<Ground, 'release'>> {
  const { answerMs, confirmReplicas: replicas = 0, isConfirmedOnDisk: isOnDisk = false, onEvent } = options;
  const address = addressOf(options);
  const unusable = (reason: string) =>
    new UnusableServer(`the store at ${shownAddress(options.address)} cannot be used: ${reason}`);
  const link = await Link.open({
    address,
    confirmation: { replicas, isOnDisk },
    name,
    ...(answerMs === undefined ? {} : { answerMs }),
    ...(onEvent === undefined ? {} : { onEvent }),
  }).catch((error: Error) => {
    throw unusable(error.message);
  });
  try {
    const setups = await readSetups(link);
    const reason = unfitness(setups, { isClusterAddress: address.kind === 'cluster', isConfirmedOnDisk: isOnDisk });
    if (reason !== null) throw unusable(reason);
    return { link, engine: descriptionOf(judge(setups, { replicas, isOnDisk }), options) };
  } catch (error) {
    link.close();
    throw error;
  }
}

function descriptionOf({ isDurable, details, warnings }: Durability, options: ValkeyOptions): EngineDescription {
  if (options.isDurabilityRequired === true && !isDurable) {
    throw new UnusableServer(`durability is required, but ${warnings.join('; ')}`);
  }
  return {
    name: 'valkey',
    durability: isDurable ? 'durable' : 'buffered',
    details: { address: shownAddress(options.address), ...details },
    warnings,
  };
}

/** By which the connections of all who use one store are told from others. */
function connectionName(prefix: string): string {
  return `tidemark-${encodeURIComponent(prefix)}`;
}

async function prepare(link: Link, layout: Layout, options: Omit<ValkeyOptions, 'prefix'>): Promise<void> {
  const problem = await prepareLife(link, layout, options.opening ?? { as: 'server' });
  if (problem === null) return;
  throw new UnusableServer(`the store at ${shownAddress(options.address)} with the prefix ${layout.prefix} ${problem}`);
}

/** How to get in, in the words of the settings. */
export type ValkeyAccess = Pick<ValkeyOptions, 'address' | 'login' | 'password' | 'sentinelLogin' | 'sentinelPassword'>;

export function addressOf({ address: text, ...given }: ValkeyAccess): Address {
  const address = readAddress(text);
  if (address === null) throw new UnusableServer(`${shownAddress(text)} is no address of a store: it ${ADDRESS_RULE}`);
  const access = {
    ...address.access,
    ...(given.login === undefined ? {} : { username: given.login }),
    ...(given.password === undefined ? {} : { password: given.password }),
  };
  if (address.kind !== 'sentinel') return { ...address, access };
  const sentinelAccess = { username: given.sentinelLogin ?? null, password: given.sentinelPassword ?? null };
  return { ...address, access, sentinelAccess };
}

/** Every call is one script, or, in a cluster, one at the registry and one at the place it is about. */
export class ValkeyStore implements MovableStore {
  readonly engine: EngineDescription;
  readonly #link: Link;
  readonly #layout: Layout;
  readonly #places: Places;
  readonly #trimStepMax: number;
  readonly #opening: Opening;
  readonly #release: () => void;
  readonly #underWay = new Set<Promise<unknown>>();
  #timer: NodeJS.Timeout | undefined;
  #isOpen = true;

  constructor(
    { link, engine, release }: Ground,
    layout: Layout,
    options: { readonly trimStepMax: number; readonly opening: Opening },
  ) {
    this.engine = engine;
    this.#link = link;
    this.#release = release;
    this.#layout = layout;
    this.#places = new Places(link, layout);
    this.#trimStepMax = options.trimStepMax;
    this.#opening = options.opening;
  }

  /**
   * Whoever meets an unfinished erasure finishes it; this finds those that nobody meets. What keeps it from doing so
   * now is no concern of anybody: it comes again.
   */
  sweepEvery(everyMs: number): void {
    const sweep = () => this.sweep().catch(() => undefined);
    this.#timer = setInterval(sweep, everyMs);
    this.#timer.unref();
  }

  /** Carries out every erasure that is under way, and notices when the store was lost. */
  sweep(): Promise<void> {
    return this.#serve(async () => {
      await this.#places.epoch();
      const dooms = listOf(await this.#link.command('HKEYS', this.#layout.registryKey('doomed')));
      await this.#places.carryOut(dooms.map((doom) => textOf(doom)));
    });
  }

  epoch(): Promise<string> {
    return this.#serve(() => this.#places.epoch());
  }

  partition(key: PartitionKey): Promise<PartitionState> {
    return this.#serve(async () => {
      const [, state] = await this.#places.read({ place: placeOf(key), script: stateScript, args: [] });
      return this.#state(state);
    });
  }

  async size(key: PartitionKey): Promise<number> {
    return (await this.partition(key)).size;
  }

  readObjects(key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead> {
    return this.#serve(() => readObjects(this.#places, key, ids));
  }

  readJournal(key: PartitionKey, range: JournalRange): Promise<JournalSlice> {
    return this.#serve(() => readJournal(this.#places, key, range));
  }

  async readJoined(key: PartitionKey, range: JournalRange): Promise<JoinedSlice> {
    return joinedSlice(await this.readJournal(key, range));
  }

  commit(change: Commit): Promise<CommitResult> {
    return this.#serve(() => commit(this.#places, change));
  }

  trim(key: PartitionKey, upTo: number): Promise<PartitionState> {
    return this.#serve(async () => {
      const args = [upTo, this.#trimStepMax];
      const [, state] = await this.#places.read({ place: placeOf(key), script: trimScript, args });
      return this.#state(state);
    });
  }

  partitions(list: { readonly after?: PartitionKey; readonly limit: number }): Promise<readonly PartitionKey[]> {
    return this.#serve(() => listPartitions(this.#link, this.#layout, list.after, list.limit));
  }

  readDocument(key: DocumentKey, parts?: readonly string[]): Promise<StoredDocument | null> {
    return this.#serve(() => readDocument(this.#places, key, parts));
  }

  writeDocument(write: DocumentWrite): Promise<WriteResult> {
    return this.#serve(() => writeDocument(this.#places, write));
  }

  documentNames(scope: DocumentScope): Promise<readonly string[]> {
    return this.#serve(() => documentNames(this.#places, scope));
  }

  readEntry(ref: EntryRef): Promise<Entry | null> {
    return this.#serve(() => readEntry(this.#link, this.#layout, ref));
  }

  listEntries(list: EntryList): Promise<readonly Entry[]> {
    return this.#serve(() => listEntries(this.#link, this.#layout, list));
  }

  countEntries(kind: EntryKind): Promise<number> {
    return this.#serve(() => countEntries(this.#link, this.#layout, kind));
  }

  writeEntries(batch: EntryBatch): Promise<WriteResult> {
    return this.#serve(() => writeEntries(this.#link, this.#layout, this.#places, batch));
  }

  readTidemark(key: PartitionKey, client: string): Promise<DeviceTidemark | null> {
    const { min, max } = markRange(client);
    return this.#serve(async () => {
      const read = { place: placeOf(key), client, script: tidemarksScript, args: [min, max, 1] };
      const [, member] = await this.#places.read(read);
      return member === undefined ? null : readMark(textOf(member));
    });
  }

  listTidemarks(
    key: PartitionKey,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly DeviceTidemark[]> {
    const from = after === undefined ? '-' : behindMark(after);
    return this.#serve(async () => {
      const read = { place: placeOf(key), script: tidemarksScript, args: [from, '+', limit] };
      const [, ...members] = await this.#places.read(read);
      return members.map((member) => readMark(textOf(member)));
    });
  }

  noteTidemark(key: PartitionKey, mark: DeviceTidemark, guards: readonly Guard[]): Promise<WriteResult> {
    const { client } = mark;
    const { min, max } = markRange(client);
    return this.#serve(async () => {
      const written = await this.#places.write({
        ...{ place: placeOf(key), client, guards, script: noteTidemarkScript },
        more: (keys) => keys.clientFence(client),
        args: [min, max, markMember(mark)],
      });
      return written.gone === null ? { status: 'written' } : { status: 'gone', guard: written.gone };
    });
  }

  readNotes(key: PartitionKey, client: string, refs: readonly NoteRef[]): Promise<readonly Note[]> {
    return this.#serve(() => readNotes(this.#places, key, client, refs));
  }

  listNotes(key: PartitionKey, client: string, list: NoteList): Promise<readonly Note[]> {
    return this.#serve(() => listNotes(this.#places, key, client, list));
  }

  addStats(rows: readonly StatRow[]): Promise<void> {
    return this.#serve(() => addStats(this.#link, this.#layout, rows));
  }

  readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]> {
    return this.#serve(() => readStats(this.#link, this.#layout, metric, from, limit));
  }

  statNames(): Promise<readonly string[]> {
    return this.#serve(() => statNames(this.#link, this.#layout));
  }

  trimStats(beforeS: number): Promise<number> {
    return this.#serve(() => trimStats(this.#link, this.#layout, beforeS, this.#trimStepMax));
  }

  reset(keep: readonly EntryRef[]): Promise<string> {
    return this.#serve(async () => {
      const epoch = newWord();
      const args = [epoch, EVERYTHING, ...listArgs(keep.map(entryField))];
      await this.#link.write(resetScript, [...this.#layout.registry, ...this.#layout.stats], args);
      await this.#places.carryOut([EVERYTHING]);
      return epoch;
    });
  }

  /**
   * The jobs that live on this store's server: its durability, its resets, its end. The clock is given, because the store
   * itself has no use for one.
   */
  jobs(options: ValkeyJobsOptions): Jobs {
    const ground = { link: this.#link, layout: this.#layout, serve: <T>(work: () => Promise<T>) => this.#serve(work) };
    return new ValkeyJobs(ground, options);
  }

  /** Copying what a server keeps is the server's own work: only it knows a moment in which all of it belongs together. */
  backup(folder: string): Promise<void> {
    return this.#serve(async () => {
      throw new UnusableServer(
        `a Valkey store is backed up with its server (BGSAVE, or a replica), not into ${folder}`,
      );
    });
  }

  async *verify(reader: RecordReader): AsyncIterable<Finding> {
    let after: PartitionKey | undefined;
    do {
      const limit = PARTITIONS_PER_READ;
      const keys = await this.partitions(after === undefined ? { limit } : { after, limit });
      for (const key of keys) {
        this.#requireOpen();
        yield* verifyPartition(this.#places, key, reader);
      }
      after = keys.length < limit ? undefined : keys.at(-1);
    } while (after !== undefined);
    this.#requireOpen();
    yield* strayKeys(this.#link, this.#layout);
  }

  life(): Promise<StoreLife> {
    return this.#serve(() => readLife(this.#link, this.#layout));
  }

  async *export(): AsyncIterable<readonly Piece[]> {
    this.#requireOpen();
    // What is to be erased is not there any more.
    await this.sweep();
    yield* exportStore({ link: this.#link, layout: this.#layout, places: this.#places });
  }

  beginImport({ epoch, lastVersion }: StoreLife): Promise<void> {
    return this.#serve(async () => {
      this.#requireTarget();
      await this.#link.write(takeLifeScript, this.#layout.registry, [epoch, lastVersion]);
    });
  }

  import(pieces: readonly Piece[]): Promise<void> {
    return this.#serve(async () => {
      this.#requireTarget();
      await importPieces(this.#link, this.#layout, await this.#places.epoch(), pieces);
    });
  }

  seal(): Promise<Seal | null> {
    return this.#serve(() => readSeal(this.#link, this.#layout));
  }

  setSeal(seal: Seal | null): Promise<void> {
    return this.#serve(async () => {
      await this.#link.write(sealScript, this.#layout.registry, [seal === null ? '' : sealText(seal)]);
    });
  }

  /** Other connections to the same store; null when the server does not tell. */
  others(): Promise<number | null> {
    return this.#serve(() => this.#link.others());
  }

  #requireTarget(): void {
    if (this.#opening.as !== 'target') throw new Error('this store was not opened to be filled');
  }

  async close(): Promise<void> {
    const isFirst = this.#isOpen;
    this.#isOpen = false;
    clearInterval(this.#timer);
    await Promise.allSettled(this.#underWay);
    if (isFirst) this.#release();
  }

  /** Closing waits for what was begun before. */
  async #serve<T>(work: () => Promise<T>): Promise<T> {
    this.#requireOpen();
    const done = work();
    this.#underWay.add(done);
    try {
      return await done;
    } finally {
      this.#underWay.delete(done);
    }
  }

  #requireOpen(): void {
    if (!this.#isOpen) throw unavailable('it is closed');
  }

  #state(reply: Parameters<typeof stateFrom>[0]): Promise<PartitionState> {
    return stateFrom(reply, () => this.#places.epoch());
  }
}
