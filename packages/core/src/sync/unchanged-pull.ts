import { type Clients, LAST_SYNC_EVERY_MS, type OwnDevice } from '../devices/clients.ts';
import type { DeviceId } from '../devices/device-id.ts';
import type { PullPosition } from '../pages/pull-position.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Store } from '../ports/store.ts';
import type { Sources, SourceView } from '../sources/sources.ts';

export interface UnchangedPullParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly clients: Pick<Clients, 'isUnchanged'>;
  readonly sources: Pick<Sources, 'view'>;
}

/** What a pull without news was answered from. None of its sources has a backend. */
export interface QuietPull {
  readonly device: DeviceId;
  readonly own: OwnDevice;
  readonly sources: readonly QuietSource[];
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
export async function isUnchanged(parts: UnchangedPullParts, { device, own, sources }: QuietPull): Promise<boolean> {
  if (own.lastSyncMs === null || elapsedMs(own.lastSyncMs, parts.clock.nowMs()) >= LAST_SYNC_EVERY_MS) return false;
  const checks = sources.map((source) => isSourceUnchanged(parts, device, source));
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
  const isSameState = now.epoch === state.epoch && now.head === state.head && now.floor === state.floor;
  return isSameState && outcomes.length === 0 && source === view;
}
