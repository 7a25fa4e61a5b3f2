import type { PartitionState } from '@tidemark/core';
import type { MemoryPartition } from './memory-life.ts';

export function stateOf({ epoch, head, floor, size, checksum }: MemoryPartition): PartitionState {
  return { epoch, head, floor, size, checksum };
}
