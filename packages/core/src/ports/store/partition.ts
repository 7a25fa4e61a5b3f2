export interface PartitionState {
  /**
   * Begins with the epoch of the store, and equals it until the first write to the partition. It changes when the store or
   * the partition is emptied.
   */
  readonly epoch: string;
  /** The newest seq; 0 when nothing was ever written. */
  readonly head: number;
  /** Tombstones with seq ≤ floor were deleted. */
  readonly floor: number;
  /** Live objects. */
  readonly size: number;
  /** Sum of the checksums of all live objects. */
  readonly checksum: number;
  /**
   * Earlier epochs, each ended by a possible loss of acknowledged writes. A state known under one of them is still valid up
   * to its seq, but not beyond.
   */
  readonly earlier?: readonly EarlierEpoch[];
}

/** Whether nothing was written, trimmed or emptied between two reads of a partition. */
export function isSameState(left: PartitionState, right: PartitionState): boolean {
  return isSameHead(left, right) && left.floor === right.floor;
}

/** Whether a partition held the same objects at two reads. A trim changes the floor, and no object. */
export function isSameHead(left: PartitionState, right: PartitionState): boolean {
  return left.epoch === right.epoch && left.head === right.head;
}

export interface EarlierEpoch {
  readonly epoch: string;
  readonly upTo: number;
}
