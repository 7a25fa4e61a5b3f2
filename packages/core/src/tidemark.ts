import {
  DEFAULT_LIMITS,
  errorMessage,
  type JsonValue,
  type Limits,
  type MoveReport,
  parseJson,
  Refusal,
  type WriteReport,
} from '@tidemark/protocol';
import { Identities } from './accounts/identities.ts';
import { Invites } from './accounts/invites.ts';
import { RememberedLogins } from './accounts/remembered-logins.ts';
import { Tokens } from './accounts/tokens.ts';
import { readUserRecord } from './accounts/user-record.ts';
import { Users } from './accounts/users.ts';
import { admitAnswer } from './admission/admit-answer.ts';
import {
  admitContent,
  admitDocument,
  admitScope,
  type DocumentContent,
  placedScope,
} from './admission/admit-document.ts';
import {
  type AnswerCall,
  type FastDeleteCall,
  type FastUpdateCall,
  type MoveCall,
  type ObjectsCall,
  type PartitionWrite,
  type ReplaceCall,
  type SeenState,
  WriteAdmission,
  type WriteCall,
} from './admission/admit-write.ts';
import type { Admitted } from './admission/admitted.ts';
import type { PartitionedSource } from './admission/partitioned-source.ts';
import { DeviceDelivery } from './delivery/device-delivery.ts';
import { Freshness } from './delivery/freshness.ts';
import { Listings } from './delivery/listings.ts';
import { Receipts } from './delivery/receipts.ts';
import { Clients } from './devices/clients.ts';
import { moveObjects } from './documents/move-objects.ts';
import { type DocumentReport, type DocumentView, NamedDocuments } from './documents/named-documents.ts';
import { type ObjectPageCall, objectPage } from './documents/object-page.ts';
import type { ChangeObserver } from './documents/observed-changes.ts';
import { readObjects } from './documents/read-objects.ts';
import { Writer } from './documents/writer.ts';
import { type CommitRange, rangeOfCommit } from './journal/commit-range.ts';
import { inspectRecord } from './journal/record.ts';
import { RETENTION_MS_DEFAULT, trim } from './journal/trim.ts';
import { PageCache } from './pages/page-cache.ts';
import { type Acknowledgement, voidTidemark } from './pages/record-tidemark.ts';
import type { Adapters, ObjectsAnswer } from './ports/adapter.ts';
import type { Clock } from './ports/clock.ts';
import type { Jobs } from './ports/jobs.ts';
import type { Log } from './ports/log.ts';
import { groupOf, sharedPartition, userPartition } from './ports/owner.ts';
import type { Pace } from './ports/pace.ts';
import type { Passwords } from './ports/passwords.ts';
import type { Random } from './ports/random.ts';
import type { DocumentScope, EntryRef, Finding, PartitionKey, PartitionState, Store } from './ports/store.ts';
import { WITHOUT_PAUSE } from './primitives/work-budget.ts';
import type { ServerIdentity } from './refresh/refresh-leases.ts';
import { type EndedRefresh, Refresher } from './refresh/refresher.ts';
import { isSearchable, search } from './search/search.ts';
import type { Groups } from './sources/groups.ts';
import { MembershipChanges } from './sources/membership-changes.ts';
import { Sources } from './sources/sources.ts';
import { Stats } from './stats/stats.ts';
import { Devices } from './sync/devices.ts';
import type { UrlRules } from './system/admit-url.ts';
import { Audit } from './system/audit.ts';
import { System } from './system/system.ts';
import type { SettledUpload } from './uploads/backend-uploads.ts';

export interface TidemarkParts {
  readonly store: Store;
  readonly clock: Clock;
  /** A monotonic clock for durations within this process. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly random: Random;
  readonly passwords: Passwords;
  readonly log: Log;
  readonly limits?: Limits;
  /** Absent: long work does not pause. */
  readonly pace?: Pace;
  readonly isResetAllowed?: boolean;
  /** The version of the product, shown with the licence. */
  readonly version?: string;
  /** Rules for the URL of the backend. */
  readonly urlRules?: UrlRules;
  /** How long statistics are kept. */
  readonly statsRetentionS?: number;
  /** Entries of the server that are kept by a reset. */
  readonly keptOnReset?: readonly EntryRef[];
  /** Adapters to backends. Absent: sources only get pushes. */
  readonly adapters?: Adapters;
  /** Job queues for refreshes. Absent: refreshes run at once. */
  readonly jobs?: Pick<Jobs, 'enqueue' | 'enqueueAll'>;
  /** The longest a query of an adapter may take. */
  readonly queryMsMax?: number;
  /** How long confirmed logins stay usable while the backend cannot be reached. Absent or 0: logins are not remembered. */
  readonly loginsKeptMs?: number;
  /** How long a pull or snapshot waits for one refresh. Absent: until the refresh ends. */
  readonly pullWaitMs?: number;
  /** A timer. Absent: pulls wait for refreshes of this server until they end, and never for those of other servers. */
  readonly wait?: (ms: number) => Promise<void>;
  /** Called with the time that a push, document or refresh took to be written durably. */
  readonly onWritten?: (tookMs: number) => void;
  /** How long after its last contact a device counts for the freshness of its sources. */
  readonly activeWindowMs?: number;
  /** The identity of this server among those on the store. Absent: there is only one server. */
  readonly server?: ServerIdentity;
}

/** A durable change of a partition. */
export interface Committed {
  readonly partition: PartitionKey;
  readonly cause: CommitCause;
  /** Absent: it is not known what the commit wrote, or it wrote nothing. */
  readonly range?: CommitRange;
}

/**
 * `late_refresh`: a refresh ended for which devices got `refresh_pending`; it may have changed nothing. `membership`: the
 * user has become a member of other groups, so that other data is the user's.
 */
export type CommitCause = 'push' | 'document' | 'refresh' | 'late_refresh' | 'upload' | 'membership';

/** `md` is the document that is synchronised, `cd` the part of it that a device has acknowledged. */
const MD = 'md';
const CD = 'cd';
const ACTIVE_WINDOW_MS_DEFAULT = 600_000;

/** All operations of the product as a library, on the given store and ports. */
export class Tidemark {
  readonly store: Store;
  readonly users: Users;
  readonly logins: RememberedLogins;
  readonly identities: Identities;
  readonly invites: Invites;
  readonly clients: Clients;
  readonly sources: Sources;
  readonly groups: Groups;
  readonly tokens: Tokens;
  readonly system: System;
  readonly audit: Audit;
  readonly stats: Stats;
  readonly devices: Devices;
  readonly receipts: Receipts;
  readonly delivery: DeviceDelivery;
  readonly listings: Listings;
  readonly freshness: Freshness;
  readonly refresher: Refresher;
  readonly #adapters: { readonly adapters?: Adapters };
  readonly #clock: Clock;
  readonly #steadyClock: Clock;
  readonly #onWritten: (tookMs: number) => void;
  readonly #log: Log;
  readonly #limits: Limits;
  readonly #pace: Pace;
  readonly #admission: WriteAdmission;
  readonly #writer: Writer;
  readonly #named: NamedDocuments;
  readonly #listeners = new Set<(committed: Committed) => void>();
  readonly #membershipChanges: MembershipChanges<Committed>;
  readonly #outcomeListeners = new Set<(settled: SettledUpload) => void>();
  readonly #refreshListeners = new Set<(ended: EndedRefresh) => void>();
  readonly #acknowledgementListeners = new Set<(acknowledgement: Acknowledgement) => void>();

  constructor(parts: TidemarkParts) {
    const ports = { ...parts, limits: parts.limits ?? DEFAULT_LIMITS };
    this.store = parts.store;
    this.users = new Users({ ...ports, isToBeWiped: (client) => this.clients.isToBeWiped(client) });
    this.logins = new RememberedLogins(ports);
    this.identities = new Identities(ports);
    this.invites = new Invites(ports);
    this.clients = new Clients({ ...ports, onErased: (client) => this.#voidShared(client) });
    this.sources = new Sources({ ...ports, onGroupsChanged: (user) => void this.#emitMembership(user) });
    this.groups = this.sources.memberships.groups;
    this.tokens = new Tokens(ports);
    this.#membershipChanges = new MembershipChanges(this.sources.memberships, parts.log, (committed) =>
      this.#emitCommitted(committed),
    );
    const { statsRetentionS: retentionS } = parts;
    this.stats = new Stats({ ...ports, ...(retentionS === undefined ? {} : { retentionS }) });
    this.audit = new Audit(ports);
    this.system = new System({
      ...ports,
      users: this.users,
      clients: this.clients,
      sources: this.sources,
      tokens: this.tokens,
    });
    this.#clock = parts.clock;
    this.#steadyClock = parts.steadyClock ?? parts.clock;
    this.#onWritten = parts.onWritten ?? (() => undefined);
    this.#log = parts.log;
    this.#limits = ports.limits;
    this.#pace = parts.pace ?? WITHOUT_PAUSE;
    this.#admission = new WriteAdmission(this.#directory, ports.limits, this.#pace);
    this.#writer = new Writer(parts.store, this.#clock, this.#pace, this.#limits);
    this.#named = new NamedDocuments(parts.store, ports.limits, this.#pace);
    this.#adapters = parts.adapters === undefined ? {} : { adapters: parts.adapters };
    this.refresher = this.#openRefresher(parts);
    const cache = new PageCache(ports.limits.pageCacheUnitsMax);
    const { activeWindowMs: windowMs = ACTIVE_WINDOW_MS_DEFAULT } = parts;
    this.freshness = new Freshness({ clock: this.#steadyClock, windowMs });
    this.devices = new Devices({
      ...ports,
      users: this.users,
      clients: this.clients,
      sources: this.sources,
      tokens: this.tokens,
      cache,
      refresher: this.refresher,
      isSearchable: (source) => isSearchable(this.#adapters, source),
      count: (metric, tookMs) => this.stats.record(metric, tookMs, this.#clock.nowMs()),
      onOutcome: (settled) => this.#emitOutcome(settled),
      onCommitted: (partition, range) => this.#emitCommitted({ partition, cause: 'upload', range }),
      onAcknowledged: this.#emitAcknowledged,
      onPresented: (partition, mark, head) => this.freshness.presented(partition, mark, head),
    });
    this.delivery = new DeviceDelivery({
      ...ports,
      clients: this.clients,
      sources: this.sources,
      cache,
    });
    this.receipts = new Receipts({
      ...ports,
      sources: this.sources,
      onAcknowledged: (listener) => this.onAcknowledged(listener),
    });
    this.listings = new Listings({ ...ports, sources: this.sources, pace: this.#pace, readUser: readUserRecord });
  }

  /** Calls the listener after every commit of this process that changed data, and after late refreshes. Returns the unsubscribe function. */
  onCommitted(listener: (committed: Committed) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Calls the listener when a queued upload gets its outcome here. Returns the unsubscribe function. */
  onOutcome(listener: (settled: SettledUpload) => void): () => void {
    this.#outcomeListeners.add(listener);
    return () => this.#outcomeListeners.delete(listener);
  }

  /**
   * Calls the listener when a device has acknowledged more than before, and this process has recorded it. Returns the
   * unsubscribe function.
   */
  onAcknowledged(listener: (acknowledgement: Acknowledgement) => void): () => void {
    this.#acknowledgementListeners.add(listener);
    return () => this.#acknowledgementListeners.delete(listener);
  }

  /** Calls the listener when a refresh has ended here, however it ended. Returns the unsubscribe function. */
  onRefreshed(listener: (ended: EndedRefresh) => void): () => void {
    this.#refreshListeners.add(listener);
    return () => this.#refreshListeners.delete(listener);
  }

  // Writing objects

  pushObjects(call: ObjectsCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.pushObjects(call), 'push', observer);
  }

  pushDeletes(call: ObjectsCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.pushDeletes(call), 'push', observer);
  }

  fastInsert(call: ObjectsCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.fastInsert(call), 'push', observer);
  }

  fastUpdate(call: FastUpdateCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.fastUpdate(call), 'push', observer);
  }

  fastDelete(call: FastDeleteCall, observer?: ChangeObserver): Promise<WriteReport> {
    return this.#write(this.#admission.fastDelete(call), 'push', observer);
  }

  /**
   * Moves objects from one group of a source to another. A device in both groups has the object all the time, if it
   * applies answers as the protocol says: the object is added before it is removed.
   */
  async moveObjects(call: MoveCall): Promise<MoveReport> {
    const write = await this.#admission.move(call);
    const onCommitted = (partition: PartitionKey, range: CommitRange) =>
      this.#emitCommitted({ partition, cause: 'push', range });
    const ports = { store: this.store, clock: this.#clock, quota: this.#limits, onCommitted };
    const { moved, missing, from, to } = await moveObjects(ports, write);
    const whose = { source: write.to.source, from: groupOf(write.from) ?? '' };
    const seqs = { from_seq: from.head, to_seq: to.head };
    return { ...whose, to: groupOf(write.to) ?? '', moved, missing, ...seqs };
  }

  /** Makes the document equal to the objects. With `since`, later commits are not undone. */
  replaceObjects(call: ReplaceCall, cause: CommitCause = 'refresh'): Promise<WriteReport> {
    return this.#write(this.#admission.replace(call), cause);
  }

  /** The same with the answer of a backend, which may still be arriving. */
  replaceWithAnswer(call: AnswerCall): Promise<WriteReport> {
    return this.#write(this.#admission.answer(call), 'refresh');
  }

  /** Checks the answer to a query as a refresh would, and stores nothing. Returns the number of objects. */
  async checkAnswer(answer: ObjectsAnswer): Promise<number> {
    const objects = await admitAnswer(answer, this.#limits, this.#pace);
    for (const object of objects) objects.attributesOf(object);
    return objects.size;
  }

  // Searching in the backend

  /** Returns the objects the adapter finds, as the text of a JSON object. They are not stored. */
  async search(call: {
    readonly source: unknown;
    readonly user_id: string;
    readonly group?: string;
    readonly params: unknown;
  }): Promise<string> {
    const asked = await this.sources.view(call.source);
    if (asked.partition_type === 'group') await this.sources.memberships.partitionOf(asked, call.user_id, call.group);
    const target = await this.#admission.partition(call);
    const source = await this.sources.view(target.partition.source);
    const ports = { ...this.#adapters, limits: this.#limits, pace: this.#pace };
    return search(ports, { partition: target.partition, user: call.user_id, source, params: call.params });
  }

  // Reading objects

  /** Returns the current state, to be passed as `since` to `replaceObjects` when a query that starts now is answered. */
  async head(call: WriteCall): Promise<SeenState> {
    const { partition, generation } = await this.#admission.partition(call);
    const { epoch, head } = await this.store.partition(partition);
    return { epoch, head, generation };
  }

  async partition(call: WriteCall): Promise<PartitionState> {
    const { partition } = await this.#admission.partition(call);
    return this.store.partition(partition);
  }

  async readObjects(call: WriteCall): Promise<ReadonlyMap<string, Readonly<Record<string, JsonValue>>>> {
    const { partition } = await this.#admission.partition(call);
    const { objects } = await readObjects(this.store, partition);
    return new Map([...objects].map(([id, text]) => [id, parseJson(text) as Record<string, JsonValue>]));
  }

  /** The receipts of shared sources count tidemarks without looking at the devices. */
  async #voidShared(client: string): Promise<void> {
    for (const { name, partition_type } of await this.sources.list()) {
      if (partition_type === 'app') await voidTidemark(this.store, sharedPartition(name), client);
    }
  }

  /** Deletes the tombstones that no recently seen device still needs. */
  async trim(call: WriteCall & { readonly retentionMs?: number }): Promise<PartitionState> {
    const { partition } = await this.#admission.partition(call);
    const { retentionMs = RETENTION_MS_DEFAULT } = call;
    return trim(this.store, partition, { nowMs: this.#clock.nowMs(), retentionMs });
  }

  // Documents by name

  async readDocument(scope: DocumentScope, name: unknown): Promise<DocumentView> {
    const address = await admitDocument(this.#directory, scope, name);
    if (isCd(scope, address.key.name)) return { type: 'objects', objects: await this.#readCd(scope) };
    const call = await this.#mdCall(scope, address.key.name);
    if (call === null) return this.#named.read(address);
    const { partition } = await this.#admission.partition(call);
    const { objects } = await readObjects(this.store, partition);
    return { type: 'objects', objects };
  }

  /**
   * Returns a page of the objects of `md` as JSON text, with the seqs at which they changed. `isOver` returns true when nobody
   * waits for it any more.
   */
  async listObjects(scope: DocumentScope, page: ObjectPageCall, isOver = () => false): Promise<string> {
    await admitScope(this.#directory, scope);
    const call = await this.#mdCall(scope, MD);
    if (call === null) throw new Error('only the data of a source can be listed');
    const { partition } = await this.#admission.partition(call);
    const ports = { store: this.store, limits: this.#limits, pace: this.#pace };
    return objectPage(ports, partition, page, isOver);
  }

  async writeDocument(
    scope: DocumentScope,
    name: unknown,
    body: { readonly data: unknown; readonly append?: boolean },
  ): Promise<DocumentReport> {
    const { append = false } = body;
    const address = await admitDocument(this.#directory, scope, name);
    const call = await this.#mdCall(scope, address.key.name);
    if (call !== null) return this.#writeMd(call, body.data, append);
    const content = await admitContent(body.data, this.#limits, this.#pace);
    if (isCd(scope, address.key.name)) return this.#writeCd(scope, content);
    return append ? this.#named.append(address, content) : this.#named.set(address, content);
  }

  /** Lists documents, `md` and `cd` first. Documents that cannot be read are not listed. */
  async documentNames(scope: DocumentScope): Promise<readonly string[]> {
    await admitScope(this.#directory, scope);
    const names = await this.store.documentNames(await placedScope(this.#directory, scope));
    if (scope.kind === 'client') return [CD, ...names];
    return mdCall(scope, MD) === null || (await this.#isWithoutShared(scope)) ? names : [MD, ...names];
  }

  // Maintenance

  /** Resets the store as `System.reset` does, and drops measurements that are not stored yet. */
  async reset(call: { readonly keepTokenId?: string } = {}): Promise<{ readonly epoch: string }> {
    const answer = await this.system.reset(call);
    this.stats.clear();
    return answer;
  }

  /** Recomputes all derived data from the records and yields the differences. */
  verify(): AsyncIterable<Finding> {
    return this.store.verify(inspectRecord);
  }

  #openRefresher(parts: TidemarkParts): Refresher {
    return new Refresher({
      ...parts,
      sourceOf: (name) => this.sources.view(name),
      targetOf: (call) => this.#admission.partition(call),
      head: (call) => this.head(call),
      replace: (call) => this.replaceWithAnswer(call),
      onEnded: (ended) => {
        for (const listener of this.#refreshListeners) this.#call(() => listener(ended));
      },
      onLate: (partition) => this.#emitCommitted({ partition, cause: 'late_refresh' }),
      count: (metric, tookMs) => this.stats.record(metric, tookMs, this.#clock.nowMs()),
    });
  }

  get #directory() {
    const { sources, users, clients } = this;
    return {
      sourceOf: (name: string) => sources.find(name),
      partitionOf: (source: PartitionedSource, login: string) => sources.partitionOf(source, login),
      generationOf: (login: string) => users.generationOf(login),
      hasClient: (id: string) => clients.has(id),
    };
  }

  /** Whether the scope asks for shared data of a source whose data belongs to users or groups. */
  async #isWithoutShared(scope: DocumentScope): Promise<boolean> {
    if (scope.kind !== 'shared') return false;
    const type = await this.sources.partitionTypeOf(scope.source);
    return type === 'user' || type === 'group';
  }

  async #mdCall(scope: DocumentScope, name: string): Promise<WriteCall | null> {
    const call = mdCall(scope, name);
    if (call === null || !(await this.#isWithoutShared(scope))) return call;
    throw new Refusal(
      'doc_not_found',
      `the data of this source belongs to its users or groups; there is no shared "${MD}"`,
    );
  }

  async #write(
    admission: Promise<Admitted<PartitionWrite>>,
    cause: CommitCause = 'push',
    observer: ChangeObserver | null = null,
  ): Promise<WriteReport> {
    const write = await admission;
    const startedMs = this.#steadyClock.nowMs();
    const { epoch, ...outcome } = await this.#writer.write(write, observer);
    this.#onWritten(this.#steadyClock.nowMs() - startedMs);
    if (outcome.changed > 0) {
      const range = rangeOfCommit({ epoch, head: outcome.seq }, outcome.changed);
      this.#emitCommitted({ partition: write.partition, cause, range });
    }
    const group = await this.#groupOf(write.partition);
    return { source: write.partition.source, user_id: write.user, ...(group === null ? {} : { group }), ...outcome };
  }

  /** Null: the partition is none of a group. */
  async #groupOf(partition: PartitionKey): Promise<string | null> {
    const name = groupOf(partition);
    return name !== null && (await this.sources.partitionTypeOf(partition.source)) === 'group' ? name : null;
  }

  /** An error of a listener does not fail the write, which is already committed. */
  #emitCommitted(committed: Committed): void {
    const { partition, cause, range } = committed;
    if (range !== undefined) this.freshness.committed(partition, range);
    // Members are told that their own partition changed, where the seqs of the custom partition mean nothing.
    if (partition.owner.kind === 'group') this.#membershipChanges.note({ partition, cause });
    else for (const listener of this.#listeners) this.#call(() => listener(committed));
  }

  /** Tells the devices of a user to pull the sources of groups. Events are hints, so a failure is only logged. */
  async #emitMembership(user: string): Promise<void> {
    try {
      for (const source of await this.sources.listByType('group')) {
        this.#emitCommitted({ partition: userPartition(source, user), cause: 'membership' });
      }
    } catch (error) {
      this.#log.warn('members_not_told', { user, reason: errorMessage(error) });
    }
  }

  #emitOutcome(settled: SettledUpload): void {
    for (const listener of this.#outcomeListeners) this.#call(() => listener(settled));
  }

  readonly #emitAcknowledged = (acknowledgement: Acknowledgement): void => {
    for (const listener of this.#acknowledgementListeners) this.#call(() => listener(acknowledgement));
  };

  #call(listener: () => void): void {
    try {
      listener();
    } catch (error) {
      this.#log.error('listener_failed', { reason: errorMessage(error) });
    }
  }

  async #writeMd(call: WriteCall, data: unknown, append: boolean): Promise<DocumentReport> {
    if (typeof data === 'string') {
      throw new Refusal('type_conflict', 'the document "md" holds a hash of hashes; a string cannot be written to it');
    }
    const objects = { ...call, objects: data };
    const admission = append
      ? this.#admission.pushObjects(objects)
      : this.#admission.replace({ ...objects, since: null });
    await this.#write(admission, 'document');
    const { size } = await this.partition(call);
    return { doc: MD, type: 'objects', size };
  }

  async #readCd({ source, client }: ClientScope): Promise<ReadonlyMap<string, string>> {
    const { user_id: user } = await this.clients.get(client);
    return this.devices.acknowledgedObjects({ user, client }, source);
  }

  /** The data on a device cannot be written by the server. Writing `cd` makes the device start over. */
  async #writeCd({ source, client }: ClientScope, { type }: DocumentContent): Promise<DocumentReport> {
    if (type === 'text') {
      throw new Refusal('type_conflict', 'the document "cd" holds a hash of hashes; a string cannot be written to it');
    }
    const { user_id: user } = await this.clients.get(client);
    await this.devices.restart({ user, client }, [source]);
    return { doc: CD, type: 'objects', size: 0 };
  }
}

type ClientScope = Extract<DocumentScope, { readonly kind: 'client' }>;

function isCd(scope: DocumentScope, name: string): scope is ClientScope {
  return scope.kind === 'client' && name === CD;
}

/** Returns the partition behind the document `md`; null for other documents. */
function mdCall(scope: DocumentScope, name: string): WriteCall | null {
  if (name !== MD) return null;
  if (scope.kind === 'user') return { source: scope.source, user_id: scope.user };
  if (scope.kind === 'group') return { source: scope.source, group: scope.group };
  return scope.kind === 'shared' ? { source: scope.source } : null;
}
