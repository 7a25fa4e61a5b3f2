export { ADDRESS_RULE, readAddress, shownAddress } from './address.ts';
export { openValkeyBus } from './bus.ts';
export { UnusableServer } from './failure.ts';
export type { ValkeyJobsOptions } from './jobs/valkey-jobs.ts';
export type { LinkEvent } from './link.ts';
export { openValkeyStore, openValkeyStores, type ValkeyOptions } from './open-valkey-store.ts';
export type { Opening } from './opening.ts';
export type { ValkeyStore } from './valkey-store.ts';
