import type { PartitionType } from '@tidemark/protocol';

/** The attributes of a source that decide in which partition its data is. */
export interface PartitionedSource {
  readonly name: string;
  readonly partition_type: PartitionType;
  readonly adapter: string;
}
