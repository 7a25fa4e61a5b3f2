import { isInternalSource, type Limits, type Outcome, type SyncSource } from '@tidemark/protocol';
import type { Bearers } from '../accounts/bearers.ts';
import type { Users } from '../accounts/users.ts';
import type { Clients } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import { type DeviceCaller, DeviceSessions } from '../devices/device-sessions.ts';
import type { FileClaims } from '../files/file-claims.ts';
import type { CommitRange } from '../journal/committed.ts';
import type { PageCache } from '../pages/page-cache.ts';
import { type Acknowledgement, emptiedTidemark } from '../pages/record-tidemark.ts';
import type { Adapters } from '../ports/adapter.ts';
import type { Clock } from '../ports/clock.ts';
import type { Jobs, LeasedJob } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import { type StoredSchema, sourceVersionsOf } from '../schemas/stored-schema.ts';
import { groupIn } from '../sources/memberships.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import type { SettledUpload } from '../uploads/backend-uploads.ts';
import type { AwaitedFiles } from '../uploads/file-wait.ts';
import { type DevicePushCall, Uploads } from '../uploads/uploads.ts';
import { Acknowledgements, type HeldTokens } from './acknowledgements.ts';
import { acknowledgedObjects, type Cursor, readCursor } from './device-progress.ts';
import { LastSeenRecorder, type LastSeenRecorderParts } from './last-seen-recorder.ts';
import { type LivePage, LivePages } from './live-pages.ts';
import { type DevicePull, type DevicePullCall, Pulls } from './pulls.ts';
import { type SnapshotCall, type SnapshotPages, Snapshots } from './snapshots.ts';

export interface DevicesParts {
  readonly store: Store;
  readonly clock: Clock;
  /** A monotonic clock, for durations. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly users: Users;
  readonly clients: Clients;
  readonly sources: Sources;
  readonly bearers: Bearers;
  readonly cache: PageCache;
  readonly files: FileClaims;
  readonly awaited: AwaitedFiles;
  readonly refresher: Pick<Refresher, 'ensureFresh'>;
  readonly isSearchable: (source: SourceView) => boolean;
  /** Absent: no source has a backend, whatever it says. */
  readonly adapters?: Adapters;
  readonly jobs?: Pick<Jobs, 'enqueueAll'>;
  readonly count: (metric: string, tookMs: number) => void;
  readonly onOutcome: (settled: SettledUpload) => void;
  readonly onCommitted: (partition: PartitionKey, range: CommitRange) => void;
  readonly onAcknowledged: (acknowledgement: Acknowledgement) => void;
  readonly freshness: LastSeenRecorderParts['freshness'];
}

/** The calls of devices. Each device acts for its own user only. */
export class Devices {
  readonly #parts: DevicesParts;
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #pulls: Pulls;
  readonly #snapshots: Snapshots;
  readonly #acknowledgements: Acknowledgements;
  readonly #livePages: LivePages;

  constructor(parts: DevicesParts) {
    this.#parts = parts;
    this.#store = parts.store;
    const shared = { ...parts, lastSeen: new LastSeenRecorder(parts), sessions: new DeviceSessions(parts) };
    this.#uploads = new Uploads(shared);
    this.#pulls = new Pulls({ ...shared, uploads: this.#uploads });
    this.#snapshots = new Snapshots(shared);
    this.#acknowledgements = new Acknowledgements(shared);
    this.#livePages = new LivePages(parts);
  }

  /** Delivers what the device is missing of several sources. A source that cannot be pulled does not spoil the others. */
  pull(device: DeviceCaller, call: DevicePullCall): Promise<DevicePull> {
    return this.#pulls.pull(device, call);
  }

  /** Records the tokens that the device holds, by source. Returns the sources whose token was accepted. */
  acknowledge(device: DeviceCaller, tokens: HeldTokens): Promise<readonly string[]> {
    return this.#acknowledgements.acknowledge(device, tokens);
  }

  /**
   * Reads the changes of the commits for devices that held everything before them. Null: they have to pull. The caller
   * checks that each device that gets the page is still signed in, after the page was read.
   */
  livePage(partition: PartitionKey, range: CommitRange): Promise<LivePage | null> {
    return this.#livePages.read(partition, range);
  }

  /** Delivers all of one source, whatever its sync type. */
  snapshot(device: DeviceCaller, call: SnapshotCall): Promise<SnapshotPages> {
    return this.#snapshots.begin(device, call);
  }

  /** Applies changes of the device. Returns their outcomes in the same order. */
  push(device: DeviceCaller, call: DevicePushCall): Promise<readonly Outcome[]> {
    return this.#uploads.push(device, call);
  }

  /** Runs the job of an upload that was left to a queue. */
  runUpload(job: LeasedJob): Promise<void> {
    return this.#uploads.runJob(job);
  }

  /** Makes the device start over at its next pull, whatever token it presents. Returns the names of the sources. */
  async restart(device: DeviceId, names?: readonly string[]): Promise<readonly string[]> {
    await this.#parts.clients.own(device.user, device.client);
    const sources =
      names === undefined
        ? await this.#parts.sources.list()
        : await Promise.all([...new Set(names)].map((name) => this.#parts.sources.view(name)));
    const restarted = sources.map(({ name }) => name);
    await this.#parts.clients.restart(device.user, device.client, restarted);
    for (const source of sources) await this.#resetTidemark(device, source);
    return restarted;
  }

  /** The cursors of the device, by source; of a source of groups, by `source/group`. */
  async cursors(device: DeviceId): Promise<Readonly<Record<string, Cursor>>> {
    const cursors: [string, Cursor][] = [];
    for (const source of await this.#parts.sources.list()) {
      for (const partition of await this.#partitionsOf(device, source)) {
        const cursor = await readCursor(this.#store, partition, device.client);
        const group = groupIn(source, partition.owner);
        if (cursor !== null) cursors.push([group === null ? source.name : `${source.name}/${group}`, cursor]);
      }
    }
    return Object.fromEntries(cursors);
  }

  /** What the device has acknowledged of a source: the document `cd`. Of a source of groups, of all its groups. */
  async acknowledgedObjects(device: DeviceId, source: string): Promise<ReadonlyMap<string, string>> {
    const partitions = await this.#partitionsOf(device, await this.#parts.sources.view(source));
    const objects = new Map<string, string>();
    for (const partition of partitions) {
      const some = await acknowledgedObjects(this.#store, partition, device.client);
      for (const [id, text] of some) if (!objects.has(id)) objects.set(id, text);
    }
    return objects;
  }

  async sources(): Promise<readonly SyncSource[]> {
    const { sources, isSearchable } = this.#parts;
    const offered = (await sources.list()).filter(({ name }) => !isInternalSource(name));
    return offered.map((source) => syncSourceOf(source, sources.schemas.of(source), isSearchable(source)));
  }

  /** From now on the device has acknowledged nothing, and needs the tombstones that are made from now on. */
  async #resetTidemark(device: DeviceId, source: SourceView): Promise<void> {
    const { client } = device;
    for (const partition of await this.#partitionsOf(device, source)) {
      if ((await this.#store.readTidemark(partition, client)) === null) continue;
      const mark = emptiedTidemark(client, await this.#store.partition(partition), this.#parts.clock.nowMs());
      await this.#store.noteTidemark(partition, mark, [{ kind: 'client', key: [client] }]);
    }
  }

  /** The partitions that the adapter named last. Questions about a device are not worth asking a backend. */
  #partitionsOf({ user }: DeviceId, source: SourceView): Promise<readonly PartitionKey[]> {
    return this.#parts.sources.memberships.knownPartitionsOf(source, user);
  }
}

function syncSourceOf(source: SourceView, schema: StoredSchema | null, searchable: boolean): SyncSource {
  const { name, partition_type, sync_type, conflicts, read_only, references } = source;
  const seen = { name, partition_type, sync_type, conflicts, read_only, references, searchable };
  return schema === null ? seen : { ...seen, schema: sourceVersionsOf(schema) };
}
