/**
 * Source × user, or source × shared when `user` is null. Of a custom partition, `user` is a text that is no login, and
 * to the store a user like any other (`admission/custom-partition.ts`).
 */
export interface PartitionKey {
  readonly source: string;
  readonly user: string | null;
}

export interface PartitionState {
  /**
   * Begins with the store's epoch, and is nothing else while the partition was never written to. Changes when either
   * begins a new life.
   */
  readonly epoch: string;
  /** The newest seq; 0 when nothing was ever written. */
  readonly head: number;
  /** Tombstones with seq ≤ floor have been forgotten. */
  readonly floor: number;
  /** Live objects. */
  readonly size: number;
  /** Sum of the checksums of all live objects. */
  readonly checksum: number;
  /**
   * Epochs of the same life from before moments at which acknowledged writes may have been lost. What was known under
   * one of them up to its seq is still true; anything beyond may have become something else.
   */
  readonly earlier?: readonly EarlierEpoch[];
}

export interface EarlierEpoch {
  readonly epoch: string;
  readonly upTo: number;
}
