import {
  fileReferencesInText,
  type Limits,
  OUTCOMES_WAITING_MAX,
  type Outcome,
  pointer,
  RECEIPT_ACTIVE_MS,
  Refusal,
} from '@tidemark/protocol';
import { admitName } from '../admission/admit-name.ts';
import { admitGroup } from '../admission/admit-write.ts';
import { type ConnectorReports, reasonOfDelay } from '../connectors/connector-reports.ts';
import type { ClientView } from '../devices/client-view.ts';
import type { Clients } from '../devices/clients.ts';
import { refs } from '../entries/refs.ts';
import type { FileView } from '../files/file-lists.ts';
import type { Files } from '../files/files.ts';
import { ObjectRecord } from '../journal/record.ts';
import type { PageCache } from '../pages/page-cache.ts';
import { positionAt } from '../pages/pull-position.ts';
import { pageBounds, readPage } from '../pages/read-page.ts';
import { pageJson } from '../pages/render-page.ts';
import { tokenText } from '../pages/token.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import { groupPartition } from '../ports/owner.ts';
import type { DeviceTidemark, Note, PartitionKey, Store, StoredObject } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import { readRefreshState } from '../refresh/refresh-state.ts';
import { groupIn, type UserPartition } from '../sources/memberships.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import { outcomeOf, readOutcome, type StoredOutcome } from '../uploads/upload-notes.ts';
import { hasAcknowledged } from './delivery-count.ts';
import { type Explanation, explain } from './explain.ts';
import type { ExplainFacts } from './explain-facts.ts';
import { heldEmpty, type UnmarkedDevice } from './held-empty.ts';

export interface DeviceDeliveryParts {
  readonly files: Pick<Files, 'find'>;
  readonly store: Store;
  readonly clock: Clock;
  readonly limits: Limits;
  readonly clients: Pick<Clients, 'get'>;
  readonly sources: Sources;
  readonly connectors: Pick<ConnectorReports, 'list'>;
  readonly cache: PageCache;
}

/** How far a device is with one source. */
export interface SourceSync {
  readonly source: string;
  /** The group, if the data of the source belongs to groups. */
  readonly group?: string;
  /** The seq up to which the device holds every change; null: nothing. */
  readonly acknowledged: number | null;
  readonly head: number;
  /** Changes after that; null: the device starts over with all objects. */
  readonly waiting: number | null;
  readonly objects: number;
  readonly next_page_bytes: number;
  readonly last_pull: string | null;
  /** Why the last refresh from the backend failed. */
  readonly error: { readonly code: string; readonly detail: string } | null;
  readonly uploads_waiting: number;
  readonly last_outcomes: readonly Outcome[];
}

/** Outcomes shown of each source. */
const OUTCOMES_SHOWN = 10;

/** What one device holds, and what it gets next. Nothing here changes anything. */
export class DeviceDelivery {
  readonly #parts: DeviceDeliveryParts;

  constructor(parts: DeviceDeliveryParts) {
    this.#parts = parts;
  }

  /** Whether the device holds the object in its current version, and if not, why. */
  async explain(clientId: unknown, sourceName: unknown, objectId: unknown, group?: string): Promise<Explanation> {
    const client = await this.#parts.clients.get(clientId);
    const source = await this.#parts.sources.view(sourceName);
    const object = admitName('object', objectId, pointer('object_id'));
    const examined = await this.#examined(client, source, { group, object });
    return explain(await this.#facts(client, source, object, examined));
  }

  /** The page that the device gets next, as JSON text. */
  async pending(clientId: unknown, sourceName: unknown, group?: string): Promise<string> {
    const client = await this.#parts.clients.get(clientId);
    const source = await this.#parts.sources.view(sourceName);
    const { partition, foreignGroup } = await this.#examined(client, source, { group, object: null });
    if (foreignGroup !== null) {
      throw new Refusal('not_a_member', `the user is not a member of the group ${JSON.stringify(foreignGroup)}`);
    }
    const mark = await this.#parts.store.readTidemark(partition, client.client_id);
    return this.#nextPage(partition, mark);
  }

  /** How far the device is with each source. */
  async sync(clientId: unknown): Promise<readonly SourceSync[]> {
    const client = await this.#parts.clients.get(clientId);
    const sources = await this.#parts.sources.list();
    const { memberships } = this.#parts.sources;
    const all = await Promise.all(
      sources.map(async (source) => {
        const partitions = await memberships.knownPartitionsOf(source, client.user_id);
        return Promise.all(partitions.map((partition) => this.#syncOf(client, source, partition)));
      }),
    );
    return all.flat();
  }

  async #syncOf(client: ClientView, source: SourceView, partition: PartitionKey): Promise<SourceSync> {
    const { store } = this.#parts;
    const [state, stored, times, refresh, notes] = await Promise.all([
      store.partition(partition),
      store.readTidemark(partition, client.client_id),
      store.commitTimes(partition),
      this.#refreshOf(source, partition),
      store.listNotes(partition, client.client_id, { kind: 'outcome', limit: OUTCOMES_WAITING_MAX }),
    ]);
    const mark = client.wipe?.confirmed_at ? null : (stored ?? heldEmpty(unmarked(client), state, times));
    const acknowledged = hasAcknowledged(state, mark, 0) ? (mark?.base ?? null) : null;
    const outcomes = inOrder(notes).map(({ opId, kept }) => outcomeOf(opId, { source: source.name }, kept, undefined));
    const group = groupIn(source, partition.owner);
    return {
      source: source.name,
      ...(group === null ? {} : { group }),
      ...{ acknowledged, head: state.head, waiting: acknowledged === null ? null : state.head - acknowledged },
      objects: state.size,
      next_page_bytes: new TextEncoder().encode(await this.#nextPage(partition, mark)).length,
      last_pull: mark === null ? null : isoTime(mark.seenAtMs),
      error: refresh?.trouble ?? null,
      uploads_waiting: outcomes.filter(({ status }) => status === 'queued').length,
      last_outcomes: outcomes.filter(({ status }) => status !== 'queued').slice(-OUTCOMES_SHOWN),
    };
  }

  async #facts(
    client: ClientView,
    source: SourceView,
    object: string,
    { partition, earlier, foreignGroup, group }: ExaminedPartition,
  ): Promise<ExplainFacts> {
    const { store, clock } = this.#parts;
    const { client_id: id, wipe } = client;
    const [read, stored, times, refresh, notes, before] = await Promise.all([
      store.readObjects(partition, [object]),
      store.readTidemark(partition, id),
      store.commitTimes(partition),
      this.#refreshOf(source, partition),
      store.listNotes(partition, id, { kind: 'outcome', limit: OUTCOMES_WAITING_MAX }),
      Promise.all(earlier.map((one) => store.readObjects(one, [object]))),
    ]);
    const connector = reasonOfDelay(await this.#parts.connectors.list(), source.name);
    const device = unmarked(client);
    const mark = stored ?? heldEmpty(device, read.state, times);
    const seenMs = Math.max(mark?.seenAtMs ?? 0, device.lastSyncMs ?? Date.parse(client.created_at));
    return {
      object,
      source: source.name,
      ...{ stored: read.objects.get(object), state: read.state, times, mark, refresh },
      isInEarlierPartition: before.some(({ objects }) => (objects.get(object)?.record ?? null) !== null),
      ...{ upload: lastUpload(notes, object), foreignGroup, group },
      wipe: wipe === null ? null : { orderedAt: wipe.ordered_at, confirmedAt: wipe.confirmed_at },
      lastContactMs: seenMs,
      connector,
      missingFiles: await this.#missingFiles(read.objects.get(object)),
      isAway: elapsedMs(seenMs, clock.nowMs()) >= RECEIPT_ACTIVE_MS,
    };
  }

  async #missingFiles(stored: StoredObject | undefined): Promise<readonly FileView[]> {
    const record = stored?.record ?? null;
    if (stored === undefined || record === null) return [];
    const { text } = new ObjectRecord(record, stored.seq).attributes;
    const hashes = new Set(fileReferencesInText(text).map(({ sha256 }) => sha256));
    const views = await Promise.all(Array.from(hashes, (sha256) => this.#parts.files.find(sha256)));
    const missing = views.filter((view) => view !== null && !view.is_stored) as FileView[];
    return missing.sort((one, other) => ((one.missing_since ?? '') < (other.missing_since ?? '') ? -1 : 1));
  }

  async #refreshOf(source: SourceView, partition: PartitionKey): Promise<ExplainFacts['refresh']> {
    if (source.adapter === NO_ADAPTER) return null;
    const entry = await this.#parts.store.readEntry(refs.refresh(partition));
    return entry === null ? { atMs: null, trouble: null } : readRefreshState(entry.value, this.#parts.clock.nowMs());
  }

  /** Reads as a pull would, and records nothing. A device without a valid tidemark gets the first page. */
  async #nextPage(partition: PartitionKey, mark: DeviceTidemark | null): Promise<string> {
    const { store, limits, cache } = this.#parts;
    const position = positionAt(await store.partition(partition), { partition, token: tokenIn(mark), restarts: 0 });
    const page = await readPage(store, position, pageBounds(limits, {}), cache);
    return pageJson(tokenText(page.token, 0), page.body);
  }

  async #examined({ user_id }: ClientView, source: SourceView, wanted: Wanted): Promise<ExaminedPartition> {
    const { memberships } = this.#parts.sources;
    const { owners, earlier } = await memberships.knownOwners(source, user_id);
    const [only] = owners;
    if (source.partition_type !== 'group' && only !== undefined) {
      const before = earlier.map((owner) => ({ source: source.name, owner }));
      return { partition: { source: source.name, owner: only }, earlier: before, foreignGroup: null, group: null };
    }
    const groups = owners.flatMap((owner) => groupIn(source, owner) ?? []);
    const group = wanted.group ?? (await this.#groupWith(source.name, groups, wanted.object));
    const admitted = admitGroup(source.name, group);
    const foreignGroup = groups.includes(admitted) ? null : admitted;
    return { partition: groupPartition(source.name, admitted), earlier: [], foreignGroup, group: admitted };
  }

  /**
   * Finds the group of the user that the object is in: where it is now, else where it was deleted, else where its tombstone may have
   * been trimmed. Undefined: the caller must name the group, because the user has none, or several and there is no object.
   */
  async #groupWith(source: string, groups: readonly string[], object: string | null): Promise<string | undefined> {
    if (object === null) return groups.length === 1 ? groups[0] : undefined;
    let best: { readonly group: string; readonly rank: number } | undefined;
    for (const group of groups) {
      const { state, objects } = await this.#parts.store.readObjects(groupPartition(source, group), [object]);
      const rank = rankOf(objects.get(object), state.floor);
      if (rank > (best?.rank ?? -1)) best = { group, rank };
      if (rank === LIVE) break;
    }
    return best?.group;
  }
}

const LIVE = 3;

/** How well a partition answers where an object is. */
function rankOf(stored: StoredObject | undefined, floor: number): number {
  if (stored !== undefined) return stored.record === null ? 2 : LIVE;
  return floor > 0 ? 1 : 0;
}

interface Wanted {
  readonly group: string | undefined;
  /** The object that is looked for; null: none. */
  readonly object: string | null;
}

/** Where an object is looked for. */
interface ExaminedPartition extends UserPartition {
  /** The group, if the user is not a member of it. */
  readonly foreignGroup: string | null;
  /** The group, if the data of the source belongs to groups. */
  readonly group: string | null;
}

/** The outcomes in the order in which they were written. */
function inOrder(notes: readonly Note[]): readonly { readonly opId: string; readonly kept: StoredOutcome }[] {
  return notes
    .map((note) => ({ opId: note.key, kept: readOutcome(note) }))
    .sort((left, right) => (left.kept.atMs ?? 0) - (right.kept.atMs ?? 0));
}

/** The last of these uploads to the object. Null: there is none, or it was applied. */
function lastUpload(notes: readonly Note[], object: string): ExplainFacts['upload'] {
  const outcomes = inOrder(notes).flatMap(({ kept }) => (kept.id === object ? kept : []));
  // An upload that is queued keeps all later ones of its object waiting.
  const last = outcomes.find(({ status }) => status === 'queued') ?? outcomes.at(-1);
  if (last === undefined || last.status === 'applied') return null;
  return { status: last.status, error: last.error ?? null };
}

function unmarked({ client_id, last_sync }: ClientView): UnmarkedDevice {
  return { client: client_id, lastSyncMs: last_sync === null ? null : Date.parse(last_sync) };
}

/**
 * The token that the device holds by what is recorded of it. The head of its last page is not recorded, so of a device in
 * the middle of a catch-up it is good in the present epoch only.
 */
function tokenIn(mark: DeviceTidemark | null): string | null {
  if (mark === null || (mark.seq === 0 && mark.base === null)) return null;
  const { epoch, seq, base, start } = mark;
  const baseline =
    base === null ? ({ kind: 'start', seq: start ?? 0 } as const) : ({ kind: 'base', seq: base } as const);
  return tokenText({ epoch, seq, baseline }, 0);
}
