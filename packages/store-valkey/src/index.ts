export { ADDRESS_RULE, readAddress, shownAddress } from './address.ts';
export { openValkeyBus } from './bus.ts';
export type { ValkeyJobsOptions } from './jobs/valkey-jobs.ts';
export type { LinkEvent } from './link.ts';
export type { Opening } from './opening.ts';
export {
  openValkeyStore,
  openValkeyStores,
  UnusableServer,
  type ValkeyOptions,
  type ValkeyStore,
} from './valkey-store.ts';
