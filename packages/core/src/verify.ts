/**
 * What commands need that verify a store. A subpath of its own, because loading all of the core takes them longer than
 * their work.
 */

export { inspectRecord } from './journal/record.ts';
export { groupOf } from './ports/owner.ts';
