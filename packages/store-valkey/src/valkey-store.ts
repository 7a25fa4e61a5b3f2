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
import { auditPlaces } from './audit.ts';
import { commit } from './commit.ts';
import { documentNames, readDocument, writeDocument } from './documents.ts';
import { countEntries, listEntries, readEntry, writeEntries } from './entries.ts';
import { exportStore } from './export.ts';
import { newWord } from './facts.ts';
import { UnusableServer, unavailable } from './failure.ts';
import { EVERYTHING, entryField } from './guards.ts';
import { importPieces } from './import.ts';
import { ValkeyJobs, type ValkeyJobsOptions } from './jobs/valkey-jobs.ts';
import { readJournal, readObjects } from './journal.ts';
import { placeOf } from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listPartitions } from './listing.ts';
import { listArgs } from './lists.ts';
import { listNotes, readNotes } from './notes.ts';
import { type Opening, readLife, readSeal, sealText } from './opening.ts';
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

const PARTITIONS_PER_READ = 1_000;

/** What stores stand on. */
export interface Ground {
  readonly link: Link;
  readonly engine: EngineDescription;
  /** Called by each store when it closes. */
  readonly release: () => void;
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
    let isSweeping = false;
    const sweep = async () => {
      if (isSweeping) return;
      isSweeping = true;
      await this.sweep().catch(() => undefined);
      isSweeping = false;
    };
    this.#timer = setInterval(() => void sweep(), everyMs);
    this.#timer.unref();
  }

  /** Carries out every erasure that is under way, and notices when the store, or a part of it, was lost. */
  sweep(): Promise<void> {
    return this.#serve(async () => {
      await this.#places.epoch();
      await auditPlaces(this.#link, this.#layout, () => !this.#isOpen);
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
