export type { Bearer, Bearers } from './accounts/bearers.ts';
export type { Identities } from './accounts/identities.ts';
export type { VerifiedLogin } from './accounts/remembered-logins.ts';
export { SCOPES, type Scope } from './accounts/token-record.ts';
export type { IssuedToken, TokenView } from './accounts/tokens.ts';
export type { Identity } from './accounts/user-record.ts';
export type { UserView } from './accounts/users.ts';
export type { SeenState, WriteCall } from './admission/admit-write.ts';
export type { AttributeFlaw } from './admission/schema-check.ts';
export { CONNECTOR_LAG_MS_MAX, durationText } from './connectors/connector-faults.ts';
export type { ConnectorView } from './connectors/connector-reports.ts';
export type { ReceiptCall } from './delivery/receipt-question.ts';
export type { BehindDevice, Receipt } from './delivery/receipts.ts';
export { lastSyncMsOf } from './devices/client-record.ts';
export type { ClientView } from './devices/client-view.ts';
export { readSubscription, type Subscription } from './devices/device-address.ts';
export type { DeviceId } from './devices/device-id.ts';
export type { DocumentReport, DocumentView } from './documents/named-documents.ts';
export { isFilteredList } from './documents/object-page.ts';
export type { ChangedObject, ChangeObserver } from './documents/observed-changes.ts';
export { refs } from './entries/refs.ts';
export type { CollectPosition, CollectReport } from './files/collect-files.ts';
export type { FileArrival, FileSender } from './files/file-arrivals.ts';
export type {
  FileDevice,
  FileObject,
  FileObjectPage,
  FilePage,
  FilePosition,
  FileScope,
  FileTotals,
  FileView,
} from './files/file-lists.ts';
export type { FileFacts, FileRules, Files } from './files/files.ts';
export {
  type FilePlace,
  hasStoredFiles,
  isFileStored,
  readFilePlace,
  storedFiles,
  writeFilePlace,
} from './files/stored-files.ts';
export type { CommitCause, Committed } from './journal/committed.ts';
export { type CommitRange, joinRanges } from './journal/committed.ts';
export { inspectRecord } from './journal/record.ts';
export { compareExports, type Difference } from './moving/compare-exports.ts';
export { type Move, type MoveCounts, type MoveProgress, type MoveReport, moveStore } from './moving/move-store.ts';
export { compareKeys, pieceKey } from './moving/piece-key.ts';
export type { RenderedPage } from './pages/read-page.ts';
export type { Acknowledgement } from './pages/record-tidemark.ts';
export { joinParts, type PageBody, type PagePart, pageJson } from './pages/render-page.ts';
export { readToken, type Token, tokenText } from './pages/token.ts';
export { ANNOUNCE_KIND, ANNOUNCE_QUEUE, announceChange, announceToAll } from './pings/announce-change.ts';
export { deliverPing, type PingAttempt } from './pings/deliver-ping.ts';
export { claimPushNotice, type PushNoticeDecision } from './pings/ping-dedup.ts';
export type { PingView, ResultStatus, ResultView } from './pings/ping-record.ts';
export { type PingPage, PingResults } from './pings/ping-results.ts';
export { PING_KIND, type PingReport, Pings, pingQueue } from './pings/pings.ts';
export { PushNotices } from './pings/push-notices.ts';
export { RecentPings } from './pings/recent-pings.ts';
export { REPEAT_KIND, type RepeatPorts, repeatToBehind, startRepeats } from './pings/repeat-pings.ts';
export * from './ports.ts';
export { BoundedMap } from './primitives/bounded-map.ts';
export { KeyedMutex } from './primitives/keyed-mutex.ts';
export { sha256 } from './primitives/sha256.ts';
export { newestFirstKey } from './primitives/time.ts';
export { TokenBuckets } from './primitives/token-buckets.ts';
export type { EndedRefresh } from './refresh/backend-query.ts';
export { REFRESH_KIND } from './refresh/refresh-job.ts';
export { Refresher } from './refresh/refresher.ts';
export type { CompiledSchema } from './schemas/compiled-schema.ts';
export { type StoredSchema, stepsFrom } from './schemas/stored-schema.ts';
export type { CountedSource, SourceView } from './sources/source-view.ts';
export type { Cursor } from './sync/device-progress.ts';
export type { LivePage } from './sync/live-pages.ts';
export type { GroupTokens, Presented } from './sync/presented.ts';
export type { DevicePull, DevicePullCall } from './sync/pulls.ts';
export type { SnapshotCall, SnapshotPages } from './sync/snapshots.ts';
export {
  readAckRequest,
  readPullRequest,
  readPushRequest,
  renderChange,
  renderLines,
  renderPull,
} from './sync/wire.ts';
export { type AddressClass, addressClass } from './system/address-class.ts';
export type { UrlRules } from './system/admit-url.ts';
export { AUDIT_RETENTION_MS, type AuditFact, type AuditSearch } from './system/audit.ts';
export { type LeaseTerms, ServerLease, type ServerLeasePorts } from './system/server-lease.ts';
export {
  Tidemark,
  type TidemarkParts,
} from './tidemark.ts';
export type { SettledUpload } from './uploads/backend-uploads.ts';
export type { Acknowledged } from './uploads/outcome-acknowledgements.ts';
export { UPLOAD_KIND, UPLOAD_QUEUE } from './uploads/upload-job.ts';
export type { DevicePushCall } from './uploads/uploads.ts';
