import type { WriteCall } from '@tidemark/core';
import { type PartitionKey, sharedPartition, userPartition } from '@tidemark/core';

/** A partition as the model knows it: of a user, or, with null, of everybody. */
export interface ModelPartition {
  readonly source: string;
  readonly user: string | null;
}

/** The same partition as the store calls it. */
export function keyOf({ source, user }: ModelPartition): PartitionKey {
  return user === null ? sharedPartition(source) : userPartition(source, user);
}

/** Returns a text that no other partition has. */
export function partitionText({ source, user }: ModelPartition): string {
  return JSON.stringify([source, user]);
}

/** Returns how a call names the partition: shared data is written without a user. */
export function callOf({ source, user }: ModelPartition): WriteCall {
  return user === null ? { source } : { source, user_id: user };
}
