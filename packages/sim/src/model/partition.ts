import type { PartitionKey, WriteCall } from '@tidemark/core';

/** Returns a text that no other partition has. */
export function partitionText({ source, user }: PartitionKey): string {
  return JSON.stringify([source, user]);
}

/** Returns how a call names the partition: shared data is written without a user. */
export function callOf({ source, user }: PartitionKey): WriteCall {
  return user === null ? { source } : { source, user_id: user };
}
