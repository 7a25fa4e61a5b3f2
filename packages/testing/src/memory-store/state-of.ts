import type { PartitionState } from '@tidemark/core';
import type { MemoryPartition } from './memory-life.ts';

export function stateOf({ epoch, earlier, head, floor, size, checksum }: MemoryPartition): PartitionState {
  const state = { epoch, head, floor, size, checksum };
  return earlier === undefined ? state : { ...state, earlier };
}
