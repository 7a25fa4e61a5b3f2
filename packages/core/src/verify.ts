/**
 * What commands need that verify a store. A subpath of its own, because loading all of the core takes them longer than
 * their work.
 */
export { customNameOf } from './admission/custom-partition.ts';
export { inspectRecord } from './journal/record.ts';
