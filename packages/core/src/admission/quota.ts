import { type Limits, Refusal } from '@tidemark/protocol';
import type { PartitionKey } from '../ports/store.ts';
import { quoted } from './admit-name.ts';
import { customNameOf } from './custom-partition.ts';

export type QuotaLimits = Pick<Limits, 'userBytesMax' | 'sharedBytesMax'>;

/** Returns the bytes allowed for the objects, tombstones and upload notes of a partition; shared partitions have a limit of their own. */
export function bytesMaxOf({ userBytesMax, sharedBytesMax }: QuotaLimits, { user }: PartitionKey): number {
  return user === null || customNameOf(user) !== null ? sharedBytesMax : userBytesMax;
}

export function quotaExceeded({ source, user }: PartitionKey, bytesMax: number): Refusal {
  const whose = user === null || customNameOf(user) !== null ? 'the shared objects' : 'the objects of one user';
  const detail =
    `${whose} of ${quoted(source)}, with what is kept of deletions and uploads, would take more than the ` +
    `${bytesMax} bytes allowed; delete some first`;
  return new Refusal('quota_exceeded', detail);
}
