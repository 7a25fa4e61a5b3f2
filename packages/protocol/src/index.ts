export type { ActivityEvent, ActivityKind } from './activity-schemas.ts';
export type * from './admin-schemas.ts';
export {
  addChecksums,
  attributesChecksum,
  objectChecksum,
  plainObjectChecksum,
  subtractChecksums,
  textChecksum,
} from './checksum.ts';
export {
  DEVICE_TYPES,
  type DeviceType,
  PUSH_SERVICES,
  PUSH_TYPES,
  type PushService,
  type PushType,
  pushServiceOf,
  pushTypeOf,
} from './device-types.ts';
export { errorMessage } from './error-message.ts';
export { retryAfterMs } from './http/retry-after.ts';
export { canonicalJson, type JsonValue } from './json/canonical-json.ts';
export { JsonSplitter, SplitError, type SplitProblem } from './json/json-splitter.ts';
export { parseJson, stringOf } from './json/parse-json.ts';
export { endOfString, endOfValue } from './json/scan.ts';
export * from './limits.ts';
export { characterProblem, NAME_BYTES_MAX, type NameKind, nameProblem, utf8Bytes } from './names.ts';
export { type Flaw, pointer, REFUSALS, Refusal, type RefusalCode } from './refusals.ts';
// Only the types: the schemas themselves bring a library along that takes longer to load than all the rest, and most
// of those who import this package, writer threads and devices among them, have no use for it.
export type {
  Conflicts,
  MoveReport,
  Page,
  PartialError,
  PartitionType,
  Problem,
  PushNotify,
  References,
  SourceAttributes,
  StatStep,
  SyncType,
  WriteReport,
} from './schemas.ts';
export type * from './sync-schemas.ts';
