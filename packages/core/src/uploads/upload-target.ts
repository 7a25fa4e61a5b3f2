import { type Conflicts, Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import type { SchemaCheck } from '../admission/schema-check.ts';
import type { Clients } from '../devices/clients.ts';
import type { RegisteredDevice } from '../devices/device-sessions.ts';
import type { Adapter, Adapters } from '../ports/adapter.ts';
import { groupPartition, partitionName, readOwner } from '../ports/owner.ts';
import type { Guard, PartitionKey } from '../ports/store.ts';
import { sourceVersionsOf } from '../schemas/stored-schema.ts';
import { refusesOldApps, requireServed } from '../sources/app-versions.ts';
import { groupIn, groupPartitionsNamed, type UserPartition } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import type { UploadVersions } from './translate-upload.ts';
import type { UploadJob } from './upload-job.ts';

/** Where the uploads of one device to one source go. */
export interface UploadTarget extends UserPartition, RegisteredDevice {
  readonly source: string;
  /** The group of the partition; null: it is none of a group. */
  readonly group: string | null;
  readonly conflicts: Conflicts;
  readonly isReadOnly: boolean;
  readonly versions: UploadVersions;
  /** What the schema of the source asks; null: nothing is checked. */
  readonly schema: SchemaCheck | null;
  /** Attribute → the partition of the objects that the attribute refers to. */
  readonly references: ReadonlyMap<string, PartitionKey>;
  /** The backend that must agree; null: uploads need no backend. */
  readonly adapter: Adapter | null;
  /** The queue to which all uploads are left; null: they are applied in the request. */
  readonly queue: string | null;
  /** The partition is full, so that only deletions are applied. */
  readonly isFull?: Refusal;
  /** What must still exist when something is written: the source, the registration of the device, the membership in the group. */
  readonly guards: readonly Guard[];
}

export interface UploadTargetsParts {
  readonly clients: Pick<Clients, 'userOf' | 'registered'>;
  readonly sources: Sources;
  /** Absent: no source has a backend, whatever it says. */
  readonly adapters?: Adapters;
}

/** Finds out where uploads go. */
export class UploadTargets {
  readonly #parts: UploadTargetsParts;

  constructor(parts: UploadTargetsParts) {
    this.#parts = parts;
  }

  /** Asks the adapter which partition or groups the user is in: uploads go nowhere else. */
  async current(device: RegisteredDevice, name: string, group?: string): Promise<UploadTarget> {
    const { memberships } = this.#parts.sources;
    const source = await this.#parts.sources.view(name);
    if (refusesOldApps(source)) {
      requireServed(source, (await this.#parts.clients.registered(device.user, device.client)).schemaVersions);
    }
    const target = await this.#target(device, source, await memberships.partitionOf(source, device.user, group));
    // What a backend has agreed to is written, even if the user has left the group meanwhile.
    if (target.adapter !== null || target.group === null) return target;
    return { ...target, guards: [...target.guards, memberships.memberEntry(source, device.user, target.group)] };
  }

  /**
   * Takes the partition that the adapter named last, without asking it. Of a source of groups, the given groups, which the
   * user may have left: a device always gets at its own outcomes.
   */
  async lastKnown(
    device: RegisteredDevice,
    name: string,
    groups?: readonly string[],
  ): Promise<readonly UploadTarget[]> {
    const { memberships } = this.#parts.sources;
    const source = await this.#parts.sources.view(name);
    const { owners, earlier } = await memberships.knownOwners(source, device.user);
    const named =
      source.partition_type === 'group' && groups !== undefined ? groupPartitionsNamed(source.name, groups) : null;
    const partitions = named ?? owners.map((owner) => ({ source: name, owner }));
    const before = earlier.map((owner) => ({ source: name, owner }));
    return Promise.all(partitions.map((partition) => this.#target(device, source, { partition, earlier: before })));
  }

  /** The names of all partitions of the source that the user may read now. The adapter is not asked. */
  async readableBy(user: string, name: string): Promise<ReadonlySet<string>> {
    const { sources } = this.#parts;
    const source = await sources.find(name);
    const partitions = source === null ? [] : await sources.memberships.knownPartitionsOf(source, user);
    return new Set(partitions.map(partitionName));
  }

  /** The partition that the job names: the user may be in another one by now. */
  async ofJob({ source, client, registration, owner }: UploadJob): Promise<UploadTarget> {
    const { clients, sources } = this.#parts;
    const user = await clients.userOf(client);
    // Uploads that a device sent before it was wiped are still applied.
    const found = user === null ? null : await clients.registered(user, client);
    if (user === null || found?.registration !== registration) {
      throw new Refusal('client_not_found', `the device of the upload, ${quoted(client)}, is gone`);
    }
    const partition = { source, owner: readOwner(owner === undefined ? user : owner) };
    return this.#target({ user, client, registration }, await sources.view(source), { partition, earlier: [] });
  }

  async #target(device: RegisteredDevice, source: SourceView, userPartition: UserPartition): Promise<UploadTarget> {
    const { user, client, registration } = device;
    const { name, conflicts, read_only: isReadOnly, cud_queue, queue } = source;
    const group = groupIn(source, userPartition.partition.owner);
    const schema = this.#parts.sources.schemas.of(source);
    return {
      ...device,
      ...userPartition,
      source: name,
      group,
      conflicts,
      isReadOnly,
      versions: schema === null ? null : sourceVersionsOf(schema),
      schema: this.#parts.sources.checkOf(source),
      references: await this.#references(source, user, group),
      adapter: adapterOf(this.#parts.adapters, source),
      queue: cud_queue ?? queue,
      guards: [
        // What was translated from an older version of the schema must be written as long as that version is the present one.
        { kind: 'source', key: [name], ...(schema === null ? {} : { version: this.#parts.sources.versionOf(source) }) },
        { kind: 'user_client', key: [user, client], version: registration },
      ],
    };
  }

  /**
   * References to a source that does not exist yet are left out: it has no objects. References to a source of groups mean
   * objects of the same group.
   */
  async #references(
    { references }: SourceView,
    user: string,
    group: string | null,
  ): Promise<ReadonlyMap<string, PartitionKey>> {
    const { sources } = this.#parts;
    const partitions = new Map<string, PartitionKey>();
    for (const [attribute, name] of Object.entries(references)) {
      const source = await sources.find(name);
      if (source === null) continue;
      if (source.partition_type === 'group') {
        if (group !== null) partitions.set(attribute, groupPartition(name, group));
        continue;
      }
      const [partition] = await sources.memberships.knownPartitionsOf(source, user);
      if (partition !== undefined) partitions.set(attribute, partition);
    }
    return partitions;
  }
}

/** Uploads to a source whose adapter is missing wait for it, because no other backend may agree in its place. */
function adapterOf(adapters: Adapters | undefined, { adapter }: SourceView): Adapter | null {
  if (adapters === undefined || adapter === NO_ADAPTER) return null;
  return adapters.find(adapter) ?? MISSING_ADAPTER;
}

function missing(): Promise<never> {
  return Promise.reject(new Refusal('backend_unavailable', 'the source names an adapter that is not there'));
}

const MISSING_ADAPTER: Adapter = { query: missing, create: missing, update: missing, delete: missing };
