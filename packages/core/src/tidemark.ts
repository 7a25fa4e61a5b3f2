import { DEFAULT_LIMITS, errorMessage, isInternalSource, type Limits } from '@tidemark/protocol';
import { Identities } from './accounts/identities.ts';
import { Invites } from './accounts/invites.ts';
import { RememberedLogins } from './accounts/remembered-logins.ts';
import { Tokens } from './accounts/tokens.ts';
import { readUserRecord } from './accounts/user-record.ts';
import { Users } from './accounts/users.ts';
import { WriteAdmission } from './admission/admit-write.ts';
import { ConnectorReports } from './connectors/connector-reports.ts';
import { CoreEvents } from './core-events.ts';
import { DeviceDelivery } from './delivery/device-delivery.ts';
import { Freshness } from './delivery/freshness.ts';
import { Listings } from './delivery/listings.ts';
import { Receipts } from './delivery/receipts.ts';
import { Clients } from './devices/clients.ts';
import { countSchemaVersions } from './devices/count-schema-versions.ts';
import { type ConversionPorts, Conversions } from './documents/conversions.ts';
import { type DeviceDocuments, Documents } from './documents/documents.ts';
import { Objects, type ObjectsParts } from './documents/objects.ts';
import { type FileRules, Files } from './files/files.ts';
import type { Committed } from './journal/committed.ts';
import { inspectRecord } from './journal/record.ts';
import { PageCache } from './pages/page-cache.ts';
import { voidTidemark } from './pages/record-tidemark.ts';
import type { Adapters } from './ports/adapter.ts';
import type { Clock } from './ports/clock.ts';
import type { Jobs } from './ports/jobs.ts';
import type { Log } from './ports/log.ts';
import { sharedPartition, userPartition } from './ports/owner.ts';
import type { Pace } from './ports/pace.ts';
import type { Passwords } from './ports/passwords.ts';
import type { Random } from './ports/random.ts';
import type { EntryRef, Finding, Store } from './ports/store.ts';
import { WITHOUT_PAUSE } from './primitives/work-budget.ts';
import type { ServerIdentity } from './refresh/refresh-leases.ts';
import { Refresher } from './refresh/refresher.ts';
import { isSearchable, search } from './search/search.ts';
import type { Groups } from './sources/groups.ts';
import { MembershipChanges } from './sources/membership-changes.ts';
import { Sources, type SourcesPorts } from './sources/sources.ts';
import { Stats } from './stats/stats.ts';
import { Devices } from './sync/devices.ts';
import type { UrlRules } from './system/admit-url.ts';
import { Audit } from './system/audit.ts';
import { System } from './system/system.ts';

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
  /** Rules for the bytes of files. Those that are absent are as in the default settings. */
  readonly fileRules?: Partial<FileRules>;
  /** The identity of this server among those on the store. Absent: there is only one server. */
  readonly server?: ServerIdentity;
}

const ACTIVE_WINDOW_MS_DEFAULT = 600_000;
const FILE_RULES_DEFAULT: FileRules = {
  quotaBytes: 10_737_418_240,
  graceMs: 86_400_000,
  uploadExpiresMs: 604_800_000,
  backendWaitMs: 3_600_000,
};

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
  readonly connectors: ConnectorReports;
  readonly stats: Stats;
  readonly devices: Devices;
  readonly receipts: Receipts;
  readonly delivery: DeviceDelivery;
  readonly listings: Listings;
  readonly freshness: Freshness;
  readonly refresher: Refresher;
  readonly events: CoreEvents;
  readonly objects: Objects;
  readonly conversions: Conversions;
  readonly documents: Documents;
  readonly files: Files;
  readonly #parts: TidemarkParts & { readonly limits: Limits };
  readonly #pace: Pace;
  readonly #admission: WriteAdmission;
  readonly #membershipChanges: MembershipChanges<Committed>;

  constructor(parts: TidemarkParts) {
    const ports = { ...parts, limits: parts.limits ?? DEFAULT_LIMITS, pace: parts.pace ?? WITHOUT_PAUSE };
    const { store, clock, log, limits, pace } = ports;
    this.#parts = ports;
    this.#pace = pace;
    this.store = store;
    this.events = new CoreEvents(log);
    this.users = new Users({ ...ports, isToBeWiped: (client) => this.clients.wipes.isPending(client) });
    this.logins = new RememberedLogins(ports);
    this.identities = new Identities(ports);
    this.invites = new Invites(ports);
    this.clients = new Clients({ ...ports, onErased: (client) => this.#voidShared(client) });
    this.sources = new Sources({ ...ports, ...this.#sourcePorts() });
    this.groups = this.sources.memberships.groups;
    this.tokens = new Tokens(ports);
    this.#membershipChanges = new MembershipChanges(this.sources.memberships, log, this.#onCommitted);
    this.files = new Files({ ...ports, sources: this.sources, rules: { ...FILE_RULES_DEFAULT, ...parts.fileRules } });
    const { users, clients, sources, tokens, events, files } = this;
    const written = { ...ports, files: files.claims };
    const watched = { ...ports, files, sources };
    const { statsRetentionS: retentionS, activeWindowMs: windowMs = ACTIVE_WINDOW_MS_DEFAULT } = parts;
    this.stats = new Stats({ ...ports, ...(retentionS === undefined ? {} : { retentionS }) });
    this.audit = new Audit(ports);
    this.connectors = new ConnectorReports(ports);
    this.system = new System({ ...ports, users, clients, sources, tokens });
    this.freshness = new Freshness({ clock: parts.steadyClock ?? clock, windowMs });
    const count = (metric: string, tookMs: number) => this.stats.record(metric, tookMs, clock.nowMs());
    const cache = new PageCache(limits.pageCacheUnitsMax);
    this.#admission = new WriteAdmission({ sources, users }, limits, pace);
    this.objects = new Objects({
      ...written,
      admission: this.#admission,
      ...objectSources(sources),
      onCommitted: this.#onCommitted,
    });
    this.conversions = this.#conversionsWith(written);
    this.refresher = new Refresher({
      ...parts,
      sourceOf: (name) => sources.view(name),
      targetOf: (call) => this.#admission.partition(call),
      head: (call) => this.objects.head(call),
      replace: (call) => this.objects.replaceWithAnswer(call),
      onEnded: (ended) => events.emit('refreshed', ended),
      onLate: (partition) => this.#onCommitted({ partition, cause: 'late_refresh' }),
      count,
    });
    this.devices = new Devices({
      ...written,
      ...{ users, clients, sources, bearers: tokens.bearers, cache, refresher: this.refresher, count },
      isSearchable: (source) => isSearchable(parts, source),
      onOutcome: (settled) => events.emit('outcome', settled),
      onCommitted: (partition, range) => this.#onCommitted({ partition, cause: 'upload', range }),
      onAcknowledged: (acknowledgement) => events.emit('acknowledged', acknowledgement),
      freshness: this.freshness,
      awaited: files,
    });
    this.documents = new Documents({
      ...ports,
      directory: { sources, users, clients },
      objects: this.objects,
      devices: deviceDocuments(this),
    });
    this.delivery = new DeviceDelivery({ ...watched, clients, connectors: this.connectors, cache });
    this.receipts = new Receipts({ ...watched, onAcknowledged: (hear) => events.on('acknowledged', hear) });
    this.listings = new Listings({ ...ports, sources, readUser: readUserRecord });
  }

  #sourcePorts(): Pick<SourcesPorts, 'onGroupsChanged' | 'onMisfits' | 'deviceVersions'> {
    return {
      onGroupsChanged: (user) => void this.#emitMembership(user),
      deviceVersions: (source) => countSchemaVersions({ ...this.#parts, pace: this.#pace }, source),
      onMisfits: (source, objects) => this.events.emit('misfits', { source, objects }),
    };
  }

  /** Returns the objects that the adapter of a source finds, as the text of a JSON object. They are not stored. */
  async search(call: {
    readonly source: unknown;
    readonly user_id: string;
    readonly group?: string;
    readonly params: unknown;
  }): Promise<string> {
    const source = await this.sources.view(call.source);
    if (source.partition_type === 'group') {
      await this.sources.memberships.partitionOf(source, call.user_id, call.group);
    }
    const { partition } = await this.#admission.partition(call);
    const ports = { ...this.#parts, pace: this.#pace };
    return search(ports, { partition, user: call.user_id, source, params: call.params });
  }

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

  #conversionsWith(ports: ConversionPorts): Conversions {
    return new Conversions({
      ...ports,
      converting: () => this.sources.converting(),
      onConverted: (source, version) => this.sources.schemas.converted(source, version),
      onCommitted: (partition, range) => this.#onCommitted({ partition, cause: 'conversion', range }),
    });
  }

  readonly #onCommitted = (committed: Committed): void => {
    const { partition, cause, range } = committed;
    // Devices get nothing of it yet. They pull when the source changes.
    if (this.sources.lastSeen(partition.source)?.filling === true) return;
    if (range !== undefined) this.freshness.committed(partition, range);
    // Members are told that their own partition changed, where the seqs of the group's mean nothing.
    if (partition.owner.kind === 'group') this.#membershipChanges.note({ partition, cause });
    else this.events.emit('committed', committed);
  };

  /** Tells the devices of a user to pull the sources of groups. Events are hints, so a failure is only logged. */
  async #emitMembership(user: string): Promise<void> {
    try {
      for (const source of await this.sources.listByType('group')) {
        if (isInternalSource(source)) continue;
        this.#onCommitted({ partition: userPartition(source, user), cause: 'membership' });
      }
    } catch (error) {
      this.#parts.log.warn('members_not_told', { user, reason: errorMessage(error) });
    }
  }

  /** The receipts of shared sources count tidemarks without looking at the devices. */
  async #voidShared(client: string): Promise<void> {
    for (const source of await this.sources.listByType('app')) {
      await voidTidemark(this.store, sharedPartition(source), client);
    }
  }
}

function objectSources(sources: Sources): Pick<ObjectsParts, 'hasGroups' | 'nameOf'> {
  return {
    hasGroups: async (source) => (await sources.partitionTypeOf(source)) === 'group',
    nameOf: async (source) => (await sources.view(source)).name,
  };
}

function deviceDocuments({ clients, devices }: Pick<Tidemark, 'clients' | 'devices'>): DeviceDocuments {
  const deviceOf = async (client: string) => ({ user: (await clients.get(client)).user_id, client });
  return {
    acknowledgedObjects: async (client, source) => devices.acknowledgedObjects(await deviceOf(client), source),
    restart: async (client, source) => void (await devices.restart(await deviceOf(client), [source])),
  };
}
