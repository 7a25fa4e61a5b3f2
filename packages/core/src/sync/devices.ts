import type { Limits, Outcome, SyncSource } from '@tidemark/protocol';
import type { Tokens } from '../accounts/tokens.ts';
import type { Users } from '../accounts/users.ts';
import type { Clients } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import { type DeviceCaller, DeviceSessions } from '../devices/device-sessions.ts';
import type { PageCache } from '../pages/page-cache.ts';
import type { Adapters } from '../ports/adapter.ts';
import type { Clock } from '../ports/clock.ts';
import type { Jobs, LeasedJob } from '../ports/jobs.ts';
import type { Log } from '../ports/log.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import type { Sources, SourceView } from '../sources/sources.ts';
import { type DevicePushCall, Uploads } from '../uploads/uploads.ts';
import { acknowledgedObjects } from './acknowledged-objects.ts';
import { type Cursor, cursorsOf } from './cursors.ts';
import { knownPartition } from './known-partition.ts';
import { LastSeenRecorder } from './last-seen-recorder.ts';
import { type DevicePull, type DevicePullCall, Pulls } from './pulls.ts';
import { type SnapshotCall, type SnapshotPages, Snapshots } from './snapshots.ts';

export interface DevicesParts {
  readonly store: Store;
  readonly clock: Clock;
  /** Measures durations within this process: it is never set. Absent: `clock`. */
  readonly steadyClock?: Clock;
  readonly log: Log;
  readonly limits: Limits;
  readonly users: Users;
  readonly clients: Clients;
  readonly sources: Sources;
  readonly tokens: Tokens;
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

/** What devices ask for, each on behalf of its user and never of another. */
export class Devices {
  readonly #parts: DevicesParts;
  readonly #store: Store;
  readonly #uploads: Uploads;
  readonly #pulls: Pulls;
  readonly #snapshots: Snapshots;

  constructor(parts: DevicesParts) {
    this.#parts = parts;
    this.#store = parts.store;
    const shared = { ...parts, visits: new LastSeenRecorder(parts), sessions: new DeviceSessions(parts) };
    this.#uploads = new Uploads(shared);
    this.#pulls = new Pulls({ ...shared, uploads: this.#uploads });
    this.#snapshots = new Snapshots(shared);
  }

  /** What the device is missing, of all sources in one answer. A source that cannot be pulled does not spoil the others. */
  pull(device: DeviceCaller, call: DevicePullCall): Promise<DevicePull> {
    return this.#pulls.pull(device, call);
  }

  /** All of one source, whatever its sync type. */
  snapshot(device: DeviceCaller, call: SnapshotCall): Promise<SnapshotPages> {
    return this.#snapshots.begin(device, call);
  }

  /** Applies what the device has changed; the outcomes in the order of the changes. */
  push(device: DeviceCaller, call: DevicePushCall): Promise<readonly Outcome[]> {
    return this.#uploads.push(device, call);
  }

  /** Runs the job of an upload that was left to a queue. */
  runUpload(job: LeasedJob): Promise<void> {
    return this.#uploads.runJob(job);
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
      partitions.push({ source, partition: await knownPartition(this.#parts.sources, source, device) });
    }
    return cursorsOf(this.#store, device.client, partitions);
  }

  /** What the device has acknowledged of a source: the document `cd`. */
  async acknowledgedObjects(device: DeviceId, source: string): Promise<ReadonlyMap<string, string>> {
    const partition = await knownPartition(this.#parts.sources, await this.#parts.sources.view(source), device);
    return acknowledgedObjects(this.#store, partition, device.client);
  }

  async sources(): Promise<readonly SyncSource[]> {
    const { sources, isSearchable } = this.#parts;
    return (await sources.list()).map((source) => syncSourceOf(source, isSearchable(source)));
  }

  /** It has acknowledged nothing any more; what it will need is what is deleted from now on. */
  async #forgetPlace(device: DeviceId, source: SourceView): Promise<void> {
    const partition = await knownPartition(this.#parts.sources, source, device);
    if ((await this.#store.readTidemark(partition, device.client)) === null) return;
    const { epoch, head } = await this.#store.partition(partition);
    const mark = { client: device.client, epoch, seq: 0, base: null, start: head, seenAtMs: this.#parts.clock.nowMs() };
    await this.#store.noteTidemark(partition, mark, [{ kind: 'client', key: [device.client] }]);
  }
}

function syncSourceOf(source: SourceView, searchable: boolean): SyncSource {
  const { name, partition_type, sync_type, conflicts, read_only, references } = source;
  return { name, partition_type, sync_type, conflicts, read_only, references, searchable };
}
