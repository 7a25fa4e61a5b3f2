import { type Limits, Refusal } from '@tidemark/protocol';
import type { PartitionKey } from '../ports/store.ts';
import { quoted } from './admit-name.ts';

export type QuotaLimits = Pick<Limits, 'userBytesMax' | 'sharedBytesMax'>;

/** Returns the bytes allowed for the objects, tombstones and upload notes of a partition; shared partitions have a limit of their own. */
export function bytesMaxOf({ userBytesMax, sharedBytesMax }: QuotaLimits, { owner }: PartitionKey): number {
  return owner.kind === 'user' ? userBytesMax : sharedBytesMax;
}

export function quotaExceeded({ source, owner }: PartitionKey, bytesMax: number): Refusal {
  const whose = owner.kind === 'user' ? 'the objects of one user' : 'the shared objects';
  const detail =
    `${whose} of ${quoted(source)}, with what is kept of deletions and uploads, would take more than the ` +
    `${bytesMax} bytes allowed; delete some first`;
  return new Refusal('quota_exceeded', detail);
}
