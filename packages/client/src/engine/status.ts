import type { PartialError } from '@tidemark/protocol';
import type { Mode } from '../machine/machine.ts';

/** How the device is doing. The value never changes; when something does, there is another one. */
export interface DeviceStatus {
  readonly mode: Mode;
  readonly userId: string | null;
  readonly clientId: string | null;
  /** Whether the platform and the app let the device use the network. */
  readonly isOnline: boolean;
  /** Whether hints of changes come as they happen. */
  readonly isLive: boolean;
  readonly isSyncing: boolean;
  /** Changes made here about which the server has not said its last word. */
  readonly pendingUploads: number;
  /** Uploads that were rejected or are conflicts, and that the app has not dealt with. */
  readonly problems: number;
  /** When the device last had all there was. */
  readonly lastSyncedAtMs: number | null;
  /** Why the last attempt failed; null when it did not. */
  readonly error: (PartialError & { readonly atMs: number }) | null;
  /** When the next attempt is made, after failures. */
  readonly retryAtMs: number | null;
  /** Sources that cannot be pulled, or whose backend could not be asked, and why. */
  readonly sourceTroubles: ReadonlyMap<string, PartialError>;
  /** How often what the device held was found to differ from the server, and mended. It should stay 0. */
  readonly heals: number;
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
