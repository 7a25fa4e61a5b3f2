// What programs outside vitest may use: index.ts adds the contract suites, which register tests.

export {
  InProcessSync,
  type MemoryStoreOptions,
  openMemoryStore,
  Rng,
  type SyncExchange,
  seededRandom,
} from '@tidemark/client-testing';
export {
  type ApiDocument,
  type ApiOperation,
  type ApiResponse,
  type Endpoint,
  endpointsOf,
  resolved,
  type Schema,
} from './conformance/api-document.ts';
export type { ConformanceCase, ServerUnderTest } from './conformance/conformance-case.ts';
export { conformanceCases } from './conformance/conformance-cases.ts';
export { drawRequest } from './conformance/fuzz/draw-request.ts';
export { KNOWN } from './conformance/fuzz/draw-value.ts';
export { type FuzzReport, fuzzServer } from './conformance/fuzz/fuzz-server.ts';
export { spoilWire } from './conformance/fuzz/spoil-wire.ts';
export { HeldObjects } from './conformance/held-objects.ts';
export { type Library, openLibrary } from './conformance/library.ts';
export { openRaw, readToEnd, readUntil, sendRaw } from './conformance/raw-socket.ts';
export { reasonToSkip, runConformanceCase } from './conformance/run-conformance-case.ts';
export {
  answerJson,
  type BackendAnswer,
  type BackendRequest,
  type FakeBackend,
  openFakeBackend,
} from './fake-backend/fake-backend.ts';
export { OIDC_ADMIN, OIDC_CLIENT, OIDC_RESOURCE, type OidcServer, openOidcServer } from './identity/oidc-server.ts';
export { Caller, type Reply } from './kit/caller.ts';
export { launchChromium, launchKillableChromium } from './kit/chromium.ts';
export { type CollectingLog, collectingLog, type LogLine } from './kit/collecting-log.ts';
export { CONTENT_CODINGS, type ContentCoding } from './kit/content-codings.ts';
export { EventReader, type ReadEvent } from './kit/event-reader.ts';
export { type FakeS3, type S3Fault, startFakeS3 } from './kit/fake-s3.ts';
export { findProgram } from './kit/find-program.ts';
export { launchKillableFirefox } from './kit/firefox.ts';
export { IS_LONG } from './kit/is-long.ts';
export type { KillableBrowser, Tab } from './kit/killable-browser.ts';
export { type MemoryFileBytes, memoryFileBytes } from './kit/memory-file-bytes.ts';
export { newTidemark, type TestTidemark } from './kit/new-tidemark.ts';
export { startOpfsApp } from './kit/opfs-app.ts';
export { startPgBouncer } from './kit/pgbouncer.ts';
export { PING_TARGET } from './kit/ping-target.ts';
export {
  type PostgresDatabase,
  type PostgresServer,
  type PostgresServerOptions,
  type PostgresSettings,
  startPostgres,
} from './kit/postgres-server.ts';
export { type PageSizeCall, pullPage, pullPages } from './kit/pull-page.ts';
export { refusalOf } from './kit/refusal-of.ts';
export { S3_KEYS, type S3Server, startS3Server } from './kit/s3-server.ts';
export { type SdkApp, startSdkApp } from './kit/sdk-app.ts';
export { signIn, startDevice, untilInTab } from './kit/sdk-tab.ts';
export { type Answer, type Outgoing, Sender } from './kit/sender.ts';
export { ServerProcess, type ServerProcessOptions, startServerProcess } from './kit/server-process.ts';
export { type SettableClock, settableClock } from './kit/settable-clock.ts';
export { TcpProxy } from './kit/tcp-proxy.ts';
export { type TemporaryFolder, temporaryFolder } from './kit/temporary-folder.ts';
export { deviceOf, makeUser, openDevice, type TestDevice, USER_PASSWORD } from './kit/test-device.ts';
export { untilServed } from './kit/until-served.ts';
export { startValkeySentinel, type ValkeySentinel } from './kit/valkey-sentinel.ts';
export {
  freePort,
  startValkey,
  startValkeyCluster,
  until,
  type ValkeyCluster,
  type ValkeyServer,
  type ValkeyServerOptions,
} from './kit/valkey-server.ts';
export { weakPasswords } from './kit/weak-passwords.ts';
export { type MemoryJobsOptions, openMemoryJobs } from './memory-jobs/open-memory-jobs.ts';
export {
  type ApnsBehaviour,
  type ApnsRequest,
  type ApnsStandIn,
  type ApnsStandInOptions,
  openApnsStandIn,
} from './push-services/apns-stand-in.ts';
export {
  type FcmBehaviour,
  type FcmRequest,
  type FcmStandIn,
  type FcmStandInOptions,
  type GrantBehaviour,
  openFcmStandIn,
} from './push-services/fcm-stand-in.ts';
export { newAccountKey, newApnsKey } from './push-services/test-keys.ts';
export { TEST_ONLY_CERTIFICATE, TEST_ONLY_PRIVATE_KEY } from './push-services/test-only-certificate.ts';
export {
  openWebPushStandIn,
  type WebPushBehaviour,
  type WebPushRequest,
  type WebPushStandIn,
  type WebPushStandInOptions,
} from './push-services/web-push-stand-in.ts';
export { CrashingStore, type CrashPlan } from './sync/crashing-store.ts';
export { type DeviceFixture, type Interceptor, newDeviceFixture } from './sync/device-fixture.ts';
export { tabsInMemory } from './sync/tabs-in-memory.ts';
export { VirtualPlatform } from './sync/virtual-platform.ts';
