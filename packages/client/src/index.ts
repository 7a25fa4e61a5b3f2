export type {
  AttributesOfSource,
  FileReference,
  FileValue,
  JsonValue,
  PartialError,
  SourceName,
  SourceType,
  SourceTypes,
  Step,
  SyncSource,
  Untyped,
  UntypedName,
  UploadOp,
} from '@tidemark/protocol';
export { ClientError, type ClientErrorCode } from './client-error.ts';
export type { LoggedCall } from './debug/call-log.ts';
export type {
  DebugOptions,
  DebugReport,
  ProblemReport,
  SourceReport,
  UploadReport,
} from './debug/debug-report.ts';
export { Device, type DeviceAttributes, type SourceOptions } from './device/device.ts';
export type { AnyFile, DeviceFiles, WaitingFile } from './device/device-files.ts';
export type { FileState } from './device/file-state.ts';
export { type DeviceOptions, openDevice } from './device/open-device.ts';
export { Source } from './device/source.ts';
export { type PendingUpload, type UploadProblem, UploadProblems, UploadQueue } from './device/upload-lists.ts';
export type { About } from './engine/describe-device.ts';
export type { DeviceEvents } from './engine/device-listeners.ts';
export type { FileOptions, Prefetch } from './engine/file-work.ts';
export type { Conflict, MergeFunction, MergeFunctions } from './engine/resolve-problem.ts';
export type { SessionEnd, SessionEndReason } from './engine/session-end.ts';
export type { Credentials, GetToken } from './engine/sessions.ts';
export type { DeviceStatus } from './engine/status.ts';
export type { FileUrl, NewFile } from './files/file-access.ts';
export type { FileContent } from './files/file-content.ts';
export type { Mode } from './machine/machine.ts';
export { defaultPlatform } from './platform/default-platform.ts';
export type { FileDirectory } from './ports/file-directory.ts';
export {
  type CommitOptions,
  type DiskChanges,
  type DiskPart,
  type LocalKey,
  type LocalRow,
  type LocalStore,
  type LocalWrite,
  type Measure,
  type Scan,
  type ScanPosition,
  type StoredObject,
  TABLES,
  type Table,
  type Union,
} from './ports/local-store.ts';
export type { NetworkHints, Platform, RequestLock, Sha256Hash, TabChannel, TabFeatures } from './ports/platform.ts';
export type { FollowOptions } from './pull/followed-groups.ts';
export type { Pages } from './queries/pages.ts';
export type { Query } from './queries/query.ts';
export type {
  Include,
  OrderBy,
  PagesOptions,
  QueriedObject,
  QueryOptions,
  Relatives,
  RelativesOf,
  Where,
} from './queries/query-options.ts';
export type { Draft } from './replica/draft.ts';
export type { StandardSchema } from './schemas/standard-schema.ts';
export type { Attributes } from './state/rows.ts';
export { memoryStore } from './stores/memory-store.ts';
export type { BuiltWith, Versions } from './versions/app-versions.ts';
export type { Observable } from './view/observable.ts';
export type { SyncedObject } from './view/source-view.ts';
