import { type Limits, nameProblem, type PartitionType, pointer, Refusal } from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { admitGroup, WriteAdmission } from '../admission/admit-write.ts';
import type { PartitionedSource } from '../admission/partitioned-source.ts';
import { REFRESH } from '../admission/refuse-gone.ts';
import type { SchemaCheck } from '../admission/schema-check.ts';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf, ownerRemoved, readOwnerVersion } from '../entries/owner-index.ts';
import { ParsedEntryCache } from '../entries/parsed-entry-cache.ts';
import { MEMBER, MEMBERSHIP, NOTICED, REFRESH_AT, refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import { sharedPartition } from '../ports/owner.ts';
import type { Entry, EntryWrite, PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import {
  admitPartitionType,
  admitSource,
  admitSourceUpdate,
  cannotChange,
  requireAdapter,
  type SourceDeclaration,
} from './admit-source.ts';
import { convertingSources } from './converting-sources.ts';
import { Memberships, type MembershipsPorts } from './memberships.ts';
import { RefreshTimes } from './refresh-times.ts';
import { PLAIN_SOURCE, readSourceRecord, type SourceRecord, writeSourceRecord } from './source-record.ts';
import { groupsArePaged, notFound } from './source-refusals.ts';
import { SourceSchemas, type SourceSchemasPorts } from './source-schemas.ts';
import { type CountedSource, type SourceView, viewOf } from './source-view.ts';
import { splitSchema } from './split-schema.ts';

export interface SourcesPorts extends MembershipsPorts {
  /** How many devices were built with which version of the schema. Absent: nobody knows. */
  readonly deviceVersions?: SourceSchemasPorts['devices'];
  /** Hears how many objects were written that do not fit a schema which only reports. */
  readonly onMisfits?: (source: string, objects: number) => void;
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
}

/** The registered sources. */
export class Sources {
  readonly memberships: Memberships;
  readonly refreshTimes: RefreshTimes;
  readonly schemas: SourceSchemas;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #adapters: MembershipsPorts['adapters'];

  readonly #lastCounted = new WeakMap<SourceView, CountedSource>();
  readonly #versions = new WeakMap<SourceView, number>();
  readonly #views = new ParsedEntryCache((name, { value, version }) => {
    const view = this.schemas.viewOf(name, readSourceRecord(value));
    this.#versions.set(view, version);
    return view;
  });

  constructor(ports: SourcesPorts) {
    const { store, clock, limits, deviceVersions, onMisfits } = ports;
    this.memberships = new Memberships(ports, (name) => this.find(name));
    this.#store = store;
    this.#clock = clock;
    this.#adapters = ports.adapters;
    const generationOf = async (login: string) => (await store.readEntry(refs.generation(login)))?.version ?? null;
    const admission = new WriteAdmission({ sources: this, users: { generationOf } }, limits);
    this.refreshTimes = new RefreshTimes({ store, clock, admission });
    this.schemas = new SourceSchemas({
      clock,
      read: async (source) => readSourceRecord((await this.#require(source)).value),
      change: (source, change) => this.#changeRecord(source, change),
      ...(onMisfits === undefined ? {} : { onMisfits }),
      devices: deviceVersions ?? (async () => ({ versions: new Map(), unknown: 0 })),
    });
  }

  async declare(call: unknown): Promise<CountedSource> {
    const declaration = admitSource(call);
    this.#requireAdapter(declaration.adapter, pointer('adapter'));
    const view = await this.#tryWrite(declaration.name, null, this.#declared(declaration, false));
    if (view === null) throw new Refusal('source_exists', `there is already a source ${quoted(declaration.name)}`);
    return this.#counted(view);
  }

  /**
   * Creates or updates the sources of the configuration. Attributes it does not give stay. Sources it no longer names keep
   * their data and become ordinary sources.
   */
  async configure(calls: readonly unknown[]): Promise<readonly SourceView[]> {
    const split = calls.map(splitSchema);
    const declarations = split.map(({ declared }) => admitSource(declared));
    for (const [index, { adapter }] of declarations.entries()) {
      this.#requireAdapter(adapter, pointer('sources', index, 'adapter'));
    }
    const views: SourceView[] = [];
    for (const [index, declaration] of declarations.entries()) {
      views.push(await retryOnConflict(() => this.#tryConfigure(declaration)));
      await this.schemas.configure(declaration.name, split[index]?.schema ?? null);
    }
    const named = new Set(declarations.map(({ name }) => name));
    for (const { name, configured } of await this.list()) {
      if (configured && !named.has(name)) await retryOnConflict(() => this.#tryRelease(name));
    }
    return views;
  }

  /** This call is frequent, so it reads everything at once. */
  async get(name: unknown): Promise<CountedSource> {
    const source = admitName('source', name, atSource);
    const view = this.#viewOf(source, await this.#store.readEntry(refs.source(source)));
    if (view.partition_type !== 'app') return this.#countedAs(view, null);
    return this.#countedAs(view, await this.#store.size(sharedPartition(source)));
  }

  /** Returns the source without counting its objects. */
  async view(name: unknown): Promise<SourceView> {
    const source = admitName('source', name, atSource);
    return this.#viewOf(source, await this.#store.readEntry(refs.source(source)));
  }

  /** The version of a source that `view` returned. It is another one after every change, and after a deletion. */
  versionOf(view: SourceView): number {
    const version = this.#versions.get(view);
    if (version === undefined) throw new Error('only views that were read have a version');
    return version;
  }

  /** Returns the source as it was last read here, which may be outdated. */
  lastSeen(name: string): SourceView | null {
    return this.#views.last(name);
  }

  /** What the schema of a source that was found asks of writes; null: nothing is checked. */
  checkOf(source: SourceView): SchemaCheck | null {
    return this.schemas.writeCheckOf(source);
  }

  async has(name: string): Promise<boolean> {
    return nameProblem('source', name) === null && (await this.#store.readEntry(refs.source(name))) !== null;
  }

  /** Lists all sources with their numbers of objects. */
  async listCounted(): Promise<readonly CountedSource[]> {
    const counted: CountedSource[] = [];
    for (const view of await this.list()) counted.push(await this.#counted(view));
    return counted;
  }

  async list(): Promise<readonly SourceView[]> {
    const views: SourceView[] = [];
    for await (const { key, value } of allEntries(this.#store, 'source', [])) {
      views.push(this.schemas.viewOf(lastOf(key), readSourceRecord(value)));
    }
    return views;
  }

  async listByType(partitionType: unknown): Promise<readonly string[]> {
    const wanted = admitPartitionType(partitionType);
    const sources = await this.list();
    return sources.filter(({ partition_type }) => partition_type === wanted).map(({ name }) => name);
  }

  async partitionTypeOf(name: string): Promise<PartitionType | null> {
    return (await this.find(name))?.partition_type ?? null;
  }

  /** The sources with objects of the version before the present one of their schema, and what must stay as it is meanwhile. */
  converting() {
    return convertingSources(this);
  }

  /** Returns null when there is no such source. */
  async find(name: string): Promise<SourceView | null> {
    const entry = await this.#store.readEntry(refs.source(name));
    return entry === null ? null : this.#views.of(name, entry);
  }

  /** Returns the partition that holds the user's data of the source. Data of groups is not the data of one user. */
  async partitionOf(source: PartitionedSource, login: string): Promise<PartitionKey> {
    if (source.partition_type === 'group') admitGroup(source.name, undefined);
    return (await this.memberships.partitionOf(source, login)).partition;
  }

  /** `userName` is stored as the author of the change and not checked. */
  async update(name: unknown, data: unknown, userName?: unknown): Promise<CountedSource> {
    const source = admitName('source', name, atSource);
    const settings = admitSourceUpdate(data);
    this.#requireAdapter(settings.adapter, pointer('data', 'adapter'));
    const updatedBy = userName == null ? {} : { updatedBy: admitName('login', userName, pointer('user_name')) };
    const view = await retryOnConflict(async () => {
      const entry = await this.#require(source);
      const old = readSourceRecord(entry.value);
      return this.#tryWrite(source, entry, { ...old, ...settings, ...updatedBy, updatedAtMs: this.#clock.nowMs() });
    });
    return this.#counted(view);
  }

  /** Deletes the source with all partitions and documents in one step. */
  async drop(name: unknown): Promise<{ readonly deleted: string }> {
    const source = admitName('source', name, atSource);
    return retryOnConflict(() => this.#tryDrop(source));
  }

  async #changeRecord(name: string, change: Parameters<SourceSchemasPorts['change']>[1]): Promise<void> {
    await retryOnConflict(async () => {
      const entry = await this.#require(name);
      const next = await change(readSourceRecord(entry.value));
      if (next === null) return true;
      return this.#tryWrite(name, entry, { ...next, updatedAtMs: this.#clock.nowMs() });
    });
  }

  #requireAdapter(adapter: string | null | undefined, at: string): void {
    const known = this.#adapters?.names?.();
    if (known !== undefined) requireAdapter(adapter, known, at);
  }

  #declared({ partitionType, adapter, settings }: SourceDeclaration, configured: boolean): SourceRecord {
    const nowMs = this.#clock.nowMs();
    const given = {
      ...(partitionType === null ? {} : { partitionType }),
      ...(adapter === null ? {} : { adapter }),
      ...settings,
    };
    return { ...PLAIN_SOURCE, ...given, configured, createdAtMs: nowMs, updatedAtMs: nowMs };
  }

  #viewOf(name: string, entry: Entry | null): SourceView {
    if (entry === null) throw notFound(name);
    return this.#views.of(name, entry);
  }

  async #counted(view: SourceView): Promise<CountedSource> {
    const isShared = view.partition_type === 'app';
    const objects = isShared ? await this.#store.size(sharedPartition(view.name)) : null;
    return this.#countedAs(view, objects);
  }

  /** Returns the same object until the source or the number changes, so that callers can cache its JSON text. */
  #countedAs(view: SourceView, objects: number | null): CountedSource {
    const known = this.#lastCounted.get(view);
    if (known?.counts.objects === objects) return known;
    const counted = { ...view, counts: { objects } };
    this.#lastCounted.set(view, counted);
    return counted;
  }

  async #tryConfigure(declaration: SourceDeclaration): Promise<SourceView | null> {
    const { name, partitionType, adapter, settings } = declaration;
    const entry = await this.#store.readEntry(refs.source(name));
    if (entry === null) return this.#tryWrite(name, null, this.#declared(declaration, true));
    const old = readSourceRecord(entry.value);
    if (partitionType !== null && partitionType !== old.partitionType) {
      throw cannotChange(`partition_type (${quoted(name)})`, pointer('partition_type'));
    }
    const record = { ...old, ...settings, adapter: adapter ?? old.adapter, configured: true };
    if (writeSourceRecord(record) === entry.value) return viewOf(name, old);
    return this.#tryWrite(name, entry, { ...record, updatedAtMs: this.#clock.nowMs() });
  }

  async #tryRelease(name: string): Promise<SourceView | true | null> {
    const entry = await this.#store.readEntry(refs.source(name));
    if (entry === null) return true;
    return this.#tryWrite(name, entry, { ...readSourceRecord(entry.value), configured: false });
  }

  /** Returns null when the entry has changed meanwhile. */
  async #tryWrite(name: string, entry: Entry | null, record: SourceRecord): Promise<SourceView | null> {
    if (record.partitionType === 'group' && record.syncType === 'bulk_only') throw groupsArePaged();
    const write = { ...refs.source(name), value: writeSourceRecord(record), expect: entry?.version ?? 0 };
    const result = await this.#store.writeEntries({ writes: [write], guards: [] });
    return result.status === 'written' ? viewOf(name, record) : null;
  }

  async #tryDrop(name: string): Promise<{ readonly deleted: string } | null> {
    // The version of the owner is read first, so that a refresh time set from here on makes the batch fail.
    const owner = await readOwnerVersion(this.#store, 'source', name);
    const entry = await this.#require(name);
    const writes: EntryWrite[] = [{ ...refs.source(name), value: null, expect: entry.version }, ownerRemoved(owner)];
    for (const kind of [REFRESH_AT, REFRESH, NOTICED, MEMBERSHIP, MEMBER]) {
      for await (const { key } of allEntries(this.#store, 'setting', [kind, name])) {
        writes.push({ kind: 'setting', key, value: null });
      }
    }
    const result = await this.#store.writeEntries({ writes, guards: [], erase: { sources: [name] } });
    return result.status === 'written' ? { deleted: name } : null;
  }

  async #require(name: string): Promise<Entry> {
    const entry = await this.#store.readEntry(refs.source(name));
    if (entry === null) throw notFound(name);
    return entry;
  }
}

/** A function, because the refusal is rarely needed. */
const atSource = () => pointer('source_id');
