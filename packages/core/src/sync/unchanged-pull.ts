import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { PullPosition } from '../pages/pull-position.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { PartitionState, Store } from '../ports/store.ts';
import type { Sources, SourceView } from '../sources/sources.ts';
import { hasChanged, type ReadSet } from './set-token.ts';

export interface UnchangedPullParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly clients: Pick<Clients, 'isUnchanged'>;
  readonly sources: Pick<Sources, 'view' | 'memberships'>;
}

/** What a pull without news was answered from. None of its sources has a backend. */
export interface QuietPull {
  readonly device: DeviceId;
  readonly own: OwnDevice;
  readonly sources: readonly QuietSource[];
  readonly groups: readonly QuietGroups[];
}

/** A source of groups, with where the device stands in each of them. No outcomes were asked for. */
export interface QuietGroups {
  readonly view: SourceView;
  /** The version of the user's memberships. */
  readonly version: number;
  readonly positions: readonly PullPosition[];
  /** What a set token said about the groups that it stands for, which have no positions. */
  readonly set: ReadSet | null;
  readonly covered: readonly string[];
}

export interface QuietSource {
  readonly view: SourceView;
  readonly position: PullPosition;
}

/**
 * Whether the same call of the same device would be answered in the same way. It reads again everything that the answer
 * was made from, so it is right at every server without anybody telling it of a change. False if the sync must be
 * recorded, or if the store cannot tell.
 */
export async function isUnchanged(parts: UnchangedPullParts, pull: QuietPull): Promise<boolean> {
  const { device, own, sources, groups } = pull;
  if (own.lastSyncMs === null || elapsedMs(own.lastSyncMs, parts.clock.nowMs()) >= LAST_SYNC_EVERY_MS) return false;
  const checks = sources.map((source) => isSourceUnchanged(parts, device, source));
  checks.push(...groups.map((source) => areGroupsUnchanged(parts, device, source)));
  checks.push(parts.clients.isUnchanged(device.client, own.version));
  const results = await Promise.all(checks).catch(() => [false]);
  return results.every((isSame) => isSame);
}

async function isSourceUnchanged(
  { store, sources }: UnchangedPullParts,
  { client }: DeviceId,
  { view, position: { partition, state } }: QuietSource,
): Promise<boolean> {
  // Outcomes are read before the state, as in a pull.
  const [outcomes, now, source] = await Promise.all([
    store.listNotes(partition, client, { kind: 'outcome', limit: 1 }),
    store.partition(partition),
    sources.view(view.name),
  ]);
  return isSameState(state, now) && outcomes.length === 0 && source === view;
}

async function areGroupsUnchanged(
  { store, sources }: UnchangedPullParts,
  { user }: DeviceId,
  { view, version, positions, set, covered }: QuietGroups,
): Promise<boolean> {
  const [memberships, source, hasMoved, ...states] = await Promise.all([
    sources.memberships.knownGroupsOf(view, user),
    sources.view(view.name),
    set !== null && covered.length > 0 && hasChanged(store, set, covered),
    ...positions.map(({ partition }) => store.partition(partition)),
  ]);
  if (memberships.version !== version || source !== view || hasMoved) return false;
  return positions.every(({ state }, index) => isSameState(state, states[index] as PartitionState));
}

function isSameState(left: PartitionState, right: PartitionState): boolean {
  return left.epoch === right.epoch && left.head === right.head && left.floor === right.floor;
}
