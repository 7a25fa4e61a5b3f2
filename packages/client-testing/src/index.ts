export {
  type LocalStoreCase,
  type LocalStoreEngine,
  type LocalStoreLocation,
  localStoreCases,
} from './contracts/local-store-cases.ts';
export {
  openTestServer,
  type TestDeviceOptions,
  type TestServer,
  type TestServerOptions,
  type TestSource,
} from './in-process-server.ts';
export { conflict, rejected, type TestBackend, type TestBackendCall } from './kit-backend.ts';
export { type MemoryStoreOptions, openMemoryStore } from './memory-store/open-memory-store.ts';
export { compareUtf8 } from './memory-store/tuples.ts';
export { type NetworkConditions, TestNetwork } from './network/switchable-network.ts';
export { Rng } from './random/rng.ts';
export { seededRandom } from './random/seeded-random.ts';
export { InProcessSync, type SyncExchange } from './sync/in-process-sync.ts';
