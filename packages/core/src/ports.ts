/**
 * What the core asks of the world around it, and all that an engine needs to know of the core. By itself, so that an
 * engine can be loaded without the product: its writer thread starts with every store that is opened.
 */
export * from './ports/adapter.ts';
export * from './ports/bus.ts';
export { type Clock, elapsedMs, isAhead } from './ports/clock.ts';
export { addCommitTime, type CommitInterval, readCommitTimes } from './ports/commit-times.ts';
export * from './ports/create-jobs.ts';
export type { FileBytes, KeptFile, KeptUpload } from './ports/file-bytes.ts';
export * from './ports/jobs.ts';
export type { Log, LogFields } from './ports/log.ts';
export * from './ports/moving.ts';
export * from './ports/notifier.ts';
export {
  groupOf,
  groupPartition,
  isSameOwner,
  type Owner,
  ownerText,
  partitionFrom,
  partitionName,
  partitionParts,
  readOwner,
  SHARED,
  sharedPartition,
  userPartition,
} from './ports/owner.ts';
export type { Pace } from './ports/pace.ts';
export type { Passwords } from './ports/passwords.ts';
export { portionsOf } from './ports/portions.ts';
export type { Random } from './ports/random.ts';
export { partitionOf, scopeFrom, scopeOf, scopeParts } from './ports/store/documents.ts';
export { joinedSlice, KEPT_OVERHEAD_BYTES, keptBytes } from './ports/store/journal.ts';
export { acknowledgedSeq } from './ports/store/notes.ts';
export { isSameState } from './ports/store/partition.ts';
export { mergedStats } from './ports/store/stats.ts';
export * from './ports/store.ts';
