export type { ActivityEvent, ActivityHistoryPage, ActivityKind } from './activity-schemas.ts';
// The answers of `/rc/v1`, the REST API for administrators and backends, one file for each section of it.
export type * from './admin/audit.ts';
export type * from './admin/backups.ts';
export type * from './admin/clients.ts';
export type * from './admin/connectors.ts';
export type * from './admin/deleted.ts';
export type * from './admin/delivery.ts';
export type * from './admin/files.ts';
export type * from './admin/jobs.ts';
export type * from './admin/pings.ts';
export type * from './admin/session.ts';
export type * from './admin/source-schemas.ts';
export type * from './admin/sources.ts';
export type * from './admin/system.ts';
export type * from './admin/tokens.ts';
export type * from './admin/users.ts';
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
export { didYouMean } from './did-you-mean.ts';
export {
  FILE_KEY,
  type FileFlaw,
  type FileReference,
  type FileValue,
  fileFlawIn,
  fileNameProblem,
  fileReferencesIn,
  fileReferencesInText,
  isFileReference,
  isMediaType,
  isSha256,
  mayHaveFiles,
  readFileReference,
} from './files.ts';
export { retryAfterMs } from './http/retry-after.ts';
export { canonicalJson, type JsonValue } from './json/canonical-json.ts';
export { JsonSplitter, SplitError, type SplitProblem } from './json/json-splitter.ts';
export { JsonProblem, parseCommentedJson } from './json/parse-commented-json.ts';
export { parseJson, parseMembers, stringOf } from './json/parse-json.ts';
export { type ParsedPath, parsePath, valueAt } from './json/path.ts';
export { sameJson } from './json/same-json.ts';
export { endOfString, endOfValue, type Members, splitMembers } from './json/scan.ts';
export {
  type KeyRange,
  keysAbove,
  keysBelow,
  keysOf,
  keysOfExisting,
  keysWithPrefix,
  sortKey,
  textKey,
  textOfKey,
} from './json/sort-key.ts';
export * from './limits.ts';
export { characterProblem, isInternalSource, NAME_BYTES_MAX, type NameKind, nameProblem, utf8Bytes } from './names.ts';
export { errorMessage, type Flaw, pointer, REFUSALS, Refusal, type RefusalCode } from './refusals.ts';
// Only the types: the schemas themselves bring a library along that takes longer to load than all the rest, and most
// of those who import this package, writer threads and devices among them, have no use for it.
export type {
  Conflicts,
  MoveReport,
  Page,
  PartialError,
  PartitionsReport,
  PartitionType,
  Problem,
  PushNotify,
  References,
  SourceAttributes,
  StatStep,
  SyncType,
  WriteReport,
} from './schemas.ts';
export type {
  SourceSchema,
  ValueFormat,
  ValueSchema,
  ValueType,
} from './source-schema/source-schema.ts';
export { VALUE_FORMATS, VALUE_TYPES } from './source-schema/source-schema.ts';
export type {
  AttributesOfSource,
  SourceName,
  SourceType,
  SourceTypes,
  Untyped,
  UntypedName,
} from './source-schema/source-types.ts';
export { namesOf, type Otherwise, type Step } from './source-schema/step.ts';
export { type StepsProblem, stepsProblem } from './source-schema/steps-problem.ts';
export {
  type AttributeChange,
  type AttributeValues,
  namedAsBefore,
  renewed,
  toNewer,
  toOlder,
  Untranslatable,
} from './source-schema/translate.ts';
export type * from './sync-schemas.ts';
