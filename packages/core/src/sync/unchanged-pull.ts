import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { PullPosition } from '../pages/pull-position.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Owner } from '../ports/owner.ts';
import { isSameState } from '../ports/store/partition.ts';
import type { PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import type { FoundSource } from './find-source.ts';
import { hasChanged, isSetGoodAt, type ReadSet } from './set-token.ts';

export interface UnchangedPullParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly clients: Pick<Clients, 'isUnchanged'>;
  readonly sources: Pick<Sources, 'view' | 'memberships'>;
}

/** What a pull without news was answered from. None of its sources has a backend. */
export interface UnchangedPull {
  readonly device: DeviceId;
  readonly own: OwnDevice;
  readonly sources: readonly UnchangedSource[];
}

/** A source that had no news, with where the device stands in it. */
export interface UnchangedSource {
  readonly view: SourceView;
  /** The version of what the user may read. */
  readonly version: number;
  readonly positions: readonly PullPosition[];
  /** The partitions in which no outcome waited. */
  readonly searched: readonly PartitionKey[];
  /** What a set token said about the groups that it stands for, which have no positions. */
  readonly set: ReadSet | null;
  readonly covered: readonly Owner[];
}

/** Null: the answer cannot be given again without asking a backend, or without the device's tokens. */
export function unchangedSource(found: FoundSource): UnchangedSource | null {
  const { view, readable, positions, searched, set, covered } = found;
  if (view.adapter !== NO_ADAPTER || set === 'unknown') return null;
  return {
    ...{ view, version: readable.version, searched, set, covered },
    positions: positions.map(({ position }) => position),
  };
}

/**
 * Whether the same call of the same device would be answered in the same way. It reads again everything that the answer
 * was made from, so it is right at every server without anybody telling it of a change. False if the sync must be
 * recorded, or if the store cannot tell.
 */
export async function isUnchanged(
  parts: UnchangedPullParts,
  { device, own, sources }: UnchangedPull,
): Promise<boolean> {
  if (own.lastSyncMs === null || elapsedMs(own.lastSyncMs, parts.clock.nowMs()) >= LAST_SYNC_EVERY_MS) return false;
  const checks = sources.map((source) => isSourceUnchanged(parts, device, source));
  checks.push(parts.clients.isUnchanged(device.client, own.version));
  const results = await Promise.all(checks).catch(() => [false]);
  return results.every((isSame) => isSame);
}

async function isSourceUnchanged(
  { store, clock, sources }: UnchangedPullParts,
  { user, client }: DeviceId,
  { view, version, positions, searched, set, covered }: UnchangedSource,
): Promise<boolean> {
  if (set !== null && !isSetGoodAt(clock.nowMs(), set)) return false;
  // Outcomes are read before the states, as in a pull.
  const notes = searched.map((partition) => store.listNotes(partition, client, { kind: 'outcome', limit: 1 }));
  const states = positions.map(({ partition }) => store.partition(partition));
  const [source, readable, hasMoved, outcomes, now] = await Promise.all([
    sources.view(view.name),
    sources.memberships.knownOwners(view, user),
    set !== null && covered.length > 0 && hasChanged(store, set, covered),
    Promise.all(notes),
    Promise.all(states),
  ]);
  if (source !== view || readable.version !== version || hasMoved) return false;
  if (outcomes.some((waiting) => waiting.length > 0)) return false;
  return positions.every(({ state }, index) => isSameState(state, now[index] as PartitionState));
}
