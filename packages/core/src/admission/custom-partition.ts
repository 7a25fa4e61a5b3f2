import type { PartitionType } from '@tidemark/protocol';
import { CUSTOM_OWNER_MARK, isCustomOwner } from '../ports/custom-owner.ts';
import type { PartitionKey } from '../ports/store.ts';

/** The attributes of a source that decide in which partition its data is. */
export interface PartitionedSource {
  readonly name: string;
  readonly partition_type: PartitionType;
  readonly adapter: string;
}

/** The `user` in the key of a custom partition, and of the partition of a group. A source has only one of both kinds. */
export function customOwner(name: string): string {
  return `${CUSTOM_OWNER_MARK}${name}`;
}

/** The partition of a group. */
export function groupPartition(source: string, group: string): PartitionKey {
  return { source, user: customOwner(group) };
}

/** Returns the name of the custom partition or group; null when the owner is a user, or all users share the partition. */
export function customNameOf(owner: string | null): string | null {
  return isCustomOwner(owner) ? owner.slice(CUSTOM_OWNER_MARK.length) : null;
}
