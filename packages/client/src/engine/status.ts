import type { PartialError } from '@tidemark/protocol';
import type { Mode } from '../machine/machine.ts';
import type { SyncProgress } from './progress.ts';
import type { SessionEnd } from './session-end.ts';

/** The status of the device. It is immutable: each change creates a new one. */
export interface DeviceStatus {
  readonly mode: Mode;
  readonly userId: string | null;
  readonly clientId: string | null;
  /** True if the platform and the app allow the device to use the network. */
  readonly isOnline: boolean;
  /** True if the device receives events as they happen. */
  readonly isLive: boolean;
  readonly isSyncing: boolean;
  /** Changes made here without a final outcome. */
  readonly pendingUploads: number;
  /** Rejected and conflicting uploads that the app has not handled. */
  readonly problems: number;
  /** How far sources are that the device fetches from the beginning; null: there are none. */
  readonly progress: SyncProgress | null;
  /** When the device last had the complete state of the server. */
  readonly lastSyncedAtMs: number | null;
  /** Why the last session ended without the user; null: it did not. */
  readonly sessionEnd: SessionEnd | null;
  /** The error of the last attempt; null if it succeeded. `status` is the HTTP status if the server answered. */
  readonly error: (PartialError & { readonly status: number | null; readonly atMs: number }) | null;
  /** When the next attempt is made, after failures. */
  readonly retryAtMs: number | null;
  /** Errors of sources that could not be pulled, or whose backend could not be reached. */
  readonly sourceTroubles: ReadonlyMap<string, PartialError>;
  /** How often the data was found to differ from the server and was repaired. It should stay 0. */
  readonly heals: number;
  /**
   * Where tabs share the device: `leader` if this one uses the store and the network, `follower` if it goes through
   * another tab. Null: the device is not shared.
   */
  readonly tab: 'leader' | 'follower' | null;
  /**
   * True while the device loads its stored objects and shows the last results of queries, see `start` of the options. What
   * is missing then may be stored all the same.
   */
  readonly isLoading: boolean;
}

export function sameStatus(left: DeviceStatus, right: DeviceStatus): boolean {
  const { sourceTroubles: leftTroubles, ...leftRest } = left;
  const { sourceTroubles: rightTroubles, ...rightRest } = right;
  const isRestSame = Object.entries(leftRest).every(
    ([name, value]) => rightRest[name as keyof typeof rightRest] === value,
  );
  return isRestSame && sameTroubles(leftTroubles, rightTroubles);
}

function sameTroubles(left: ReadonlyMap<string, PartialError>, right: ReadonlyMap<string, PartialError>): boolean {
  return left.size === right.size && [...left].every(([source, trouble]) => right.get(source) === trouble);
}
