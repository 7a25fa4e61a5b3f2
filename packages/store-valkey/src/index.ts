export { ADDRESS_RULE, readAddress, shownAddress } from './address.ts';
export { openValkeyBus } from './bus.ts';
export type { ConnectionEvent } from './connection-events.ts';
export { UnusableServer } from './failure.ts';
export type { ValkeyJobsOptions } from './jobs/jobs.ts';
export { openValkeyStore, openValkeyStores, type ValkeyOptions, type ValkeyStore } from './open-store.ts';
export type { Opening } from './opening.ts';
