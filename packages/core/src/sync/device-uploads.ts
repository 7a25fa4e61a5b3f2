import {
  ACKNOWLEDGED_PER_CALL_MAX,
  type Outcome,
  pointer,
  Refusal,
  UPLOADS_PER_PUSH_MAX,
  type Upload,
} from '@tidemark/protocol';
import type { Tokens } from '../accounts/tokens.ts';
import { quoted } from '../admission/admit-name.ts';
import type { Clients } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { Adapter, Adapters } from '../ports/adapter.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import type { Guard, PartitionKey } from '../ports/store.ts';
import type { UserPartition } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { Sources, SourceView } from '../sources/sources.ts';
import { admitOpId } from '../uploads/admit-upload.ts';
import { readUploadJob, type UploadJob } from '../uploads/upload-job.ts';
import type { UploadTarget } from '../uploads/upload-target.ts';
import { Uploads, type UploadsPorts } from '../uploads/uploads.ts';
import type { DeviceCaller } from './device-sessions.ts';
import { knownPartition } from './known-partition.ts';
import { partialErrorOf } from './partial-error.ts';
import { requireCount } from './require-count.ts';

/** What uploads need of the rest. */
export interface DeviceUploadsParts extends UploadsPorts {
  readonly clients: Clients;
  readonly sources: Sources;
  readonly tokens: Pick<Tokens, 'isGood'>;
  /** Absent: sources are only pushed to, whatever they say. */
  readonly adapters?: Adapters;
}

/** Op ids by source. */
export type Acknowledged = ReadonlyMap<string, readonly string[]>;

export interface DevicePushCall {
  readonly changes: readonly Upload[];
  readonly acknowledged?: Acknowledged;
}

/** A device that has been looked up. */
interface Identified extends DeviceId {
  readonly registration: number;
}

/** What devices have changed, on its way to where it belongs. */
export class DeviceUploads {
  readonly #parts: DeviceUploadsParts;
  readonly #uploads: Uploads;

  constructor(parts: DeviceUploadsParts) {
    this.#parts = parts;
    this.#uploads = new Uploads(parts);
  }

  /** Applies what the device has changed; the outcomes in the order of the changes. */
  async push(device: DeviceCaller, { changes, acknowledged }: DevicePushCall): Promise<readonly Outcome[]> {
    requireCount(changes.length, UPLOADS_PER_PUSH_MAX, 'changes');
    for (const [index, { op_id }] of changes.entries()) admitOpId(op_id, pointer('changes', index, 'op_id'));
    const pusher = await this.#identify(device);
    await this.#acknowledge(pusher, acknowledged);
    const outcomes: Outcome[] = [];
    for (const places of await this.#runsOf(changes)) {
      const uploads = places.map((index) => changes[index] as Upload);
      const told = await this.#apply(pusher, uploads[0]?.source ?? '', uploads);
      for (const [at, index] of places.entries()) outcomes[index] = told[at] as Outcome;
    }
    return outcomes;
  }

  /** Runs the job of an upload that was left to a queue. */
  async runUpload(job: LeasedJob): Promise<void> {
    const upload = readUploadJob(job);
    const target = await this.#jobTarget(upload).catch((error: unknown) => {
      if (!GONE.has(partialErrorOf(error).code)) throw error;
      this.#parts.log.warn('upload_dropped', { source: upload.source, reason: partialErrorOf(error).detail });
      return null;
    });
    if (target !== null) await this.#uploads.run(job, target);
  }

  /** Forgets outcomes that the device has heard of. */
  async acknowledge(device: DeviceCaller, acknowledged: Acknowledged): Promise<void> {
    await this.#acknowledge(await this.#identify(device), acknowledged);
  }

  async #acknowledge(device: Identified, acknowledged: Acknowledged = new Map()): Promise<void> {
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

  /** Outcomes that the device has not acknowledged yet. */
  waiting(where: Parameters<Uploads['waiting']>[0]): Promise<readonly Outcome[]> {
    return this.#uploads.waiting(where);
  }

  /**
   * The device with its registration. It is looked up once for each call or job and guards every write of it, so that
   * what was begun for one person is not finished for the next one of the same login and device id. A token goes with its
   * user: one that is good after the registration was read belongs to the same person.
   */
  async #identify({ user, client, tokenId }: DeviceCaller): Promise<Identified> {
    const { clients, tokens, clock } = this.#parts;
    const { registration } = await clients.own(user, client);
    if (tokenId !== undefined && !(await tokens.isGood(tokenId, clock.nowMs()))) {
      throw new Refusal('token_invalid', 'the token has expired or was revoked meanwhile');
    }
    return { user, client, registration };
  }

  async #jobTarget({ source, client, registration, owner }: UploadJob): Promise<UploadTarget> {
    const user = await this.#parts.clients.userOf(client);
    const device = user === null ? null : await this.#identify({ user, client });
    if (device === null || device.registration !== registration) {
      throw new Refusal('client_not_found', `the device of the upload, ${quoted(client)}, is gone`);
    }
    const partition = { source, user: owner === undefined ? device.user : owner };
    return this.#target(device, source, { partition, earlier: [] });
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

  async #apply(device: Identified, name: string, uploads: readonly Upload[]): Promise<readonly Outcome[]> {
    try {
      return await this.#uploads.apply(await this.#target(device, name, await this.#askedPlace(device, name)), uploads);
    } catch (error) {
      const { code, detail } = partialErrorOf(error);
      // Only what concerns this source alone: whatever else is wrong is wrong with the whole call.
      if (code !== 'source_not_found' && code !== 'invalid_name') throw error;
      return uploads.map(({ op_id, id }) => {
        return { op_id, source: name, status: 'rejected', id, error: { code, detail }, current: null };
      });
    }
  }

  /** Where the user is now: nobody writes to, or is told of, where they are no longer. */
  async #askedPlace({ user }: DeviceId, name: string): Promise<UserPartition> {
    return this.#parts.sources.memberships.placeOf(await this.#parts.sources.view(name), user);
  }

  /** Without a place, the one where the user was last seen. */
  async #target(device: Identified, name: string, place?: UserPartition): Promise<UploadTarget> {
    const { user, client, registration } = device;
    const source = await this.#parts.sources.view(name);
    const guards: Guard[] = [
      { kind: 'source', key: [name] },
      { kind: 'user_client', key: [user, client], version: registration },
    ];
    const { conflicts, read_only: isReadOnly, cud_queue, queue } = source;
    return {
      source: name,
      client,
      registration,
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
      if (source !== null) partitions.set(attribute, await knownPartition(this.#parts.sources, source, device));
    }
    return partitions;
  }
}

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
