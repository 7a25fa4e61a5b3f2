export type { SourceName, SourceType, SourceTypes, Untyped } from '@tidemark/protocol';
export type { ActivityOptions } from './client/calls/activity.ts';
export type {
  DocumentOwner,
  ObjectListOf,
  ObjectListOptions,
  SourceDocumentOwner,
  WriteOptions,
} from './client/calls/documents.ts';
export type { DownloadOptions, FileBytes, FileFilter, FileOptions } from './client/calls/files.ts';
export type { InspectOptions } from './client/calls/jobs.ts';
export type { SessionCredentials } from './client/calls/session.ts';
export type {
  InferOptions,
  RefreshOptions,
  SourceChanges,
  SourceDeclaration,
  SourceUpdateOptions,
} from './client/calls/sources.ts';
export type { AdminCredentials, MetricRange } from './client/calls/system.ts';
export type { TokenFilter, TokenRequest } from './client/calls/tokens.ts';
export type { ClientFilter, GroupOptions, NewUser, Ping, UserChanges, UserFilter } from './client/calls/users.ts';
export type { PageOptions } from './client/paging.ts';
export { TidemarkClient } from './client/tidemark-client.ts';
export { createHandler, type Handler, type HandlerOptions } from './handler/create-handler.ts';
export {
  inProcessOperations,
  inProcessReplays,
  type OperationMemory,
  type ReplayMemory,
  type StoredAnswer,
} from './handler/memory.ts';
export { SignatureError } from './handler/signature-alarm.ts';
export {
  type Authenticate,
  type AuthenticateCall,
  type CallContext,
  type ChangeDone,
  type CreateCall,
  type DeleteCall,
  type FileLink,
  type HandlersBySource,
  type QueryCall,
  type SearchCall,
  type SourceHandlers,
  sourceHandlers,
  UNCHANGED,
  type UpdateCall,
  type UploadCall,
} from './handler/source-handlers.ts';
export { Conflict, Rejected } from './handler/verdicts.ts';
export type { Platform } from './platform.ts';
export type { Attributes, IdsGiven, ObjectEntry, Objects, ObjectsGiven, PushedAttributes } from './push/objects.ts';
export type { MoveOptions, PushObjectsOptions, PushOperation, PushOptions, PushReport } from './push/push-calls.ts';
export type { ByteSource } from './push/read-objects.ts';
export { idsFromJson, objectsFromJson, objectsFromNdjson } from './push/read-objects.ts';
export type { RetryPolicy } from './transport/retry-policy.ts';
export { type ClientCode, type PushProgress, TidemarkError } from './transport/tidemark-error.ts';
export type { CallOptions, ClientOptions, TextAnswer } from './transport/transport.ts';
