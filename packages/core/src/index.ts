export { callFor, type Moment, type WriteCall } from './admission/admit-write.ts';
export { customNameOf } from './admission/custom-partition.ts';
export type { Cursor } from './devices/cursors.ts';
export type { Acknowledged, DevicePushCall } from './devices/device-uploads.ts';
export type { DevicePull, DevicePullCall } from './devices/pulls.ts';
export type { NoPage, RenderedPage } from './devices/rendered-page.ts';
export type { SnapshotCall, SnapshotPages } from './devices/snapshots.ts';
export type { DocumentReport, DocumentView } from './documents/named-documents.ts';
export { inspectRecord } from './journal/record.ts';
export { compareExports, type Difference } from './moving/compare-exports.ts';
export { type Census, type Move, type MoveProgress, type MoveReport, moveStore } from './moving/move-store.ts';
export { compareKeys, pieceKey } from './moving/piece-key.ts';
export { type PageBody, type PagePart, pageJson } from './pages/render-page.ts';
export { readToken, type Token, tokenText } from './pages/token.ts';
export { ANNOUNCE_KIND, ANNOUNCE_QUEUE, announceChange, announceToAll } from './pings/announce-change.ts';
export { deliverPing } from './pings/deliver-ping.ts';
export { type NoticeTurn, takeNoticeTurn } from './pings/notice-turn.ts';
export type { PingView, ResultStatus, ResultView } from './pings/ping-record.ts';
export { type PingPage, PingResults } from './pings/ping-results.ts';
export { PING_KIND, type PingReport, Pings, pingQueue } from './pings/pings.ts';
export { PushNotices } from './pings/push-notices.ts';
export { ToldLately } from './pings/told-lately.ts';
export * from './ports.ts';
export { REFRESH_KIND, Refresher } from './refresh/refresher.ts';
export type { ClientView } from './registry/clients.ts';
export { readSubscription, type Subscription } from './registry/device-address.ts';
export type { DeviceId } from './registry/device-id.ts';
export { refs } from './registry/refs.ts';
export type { Vouched } from './registry/remembered-logins.ts';
export { SCOPES, type Scope } from './registry/scopes.ts';
export { sha256 } from './registry/sha256.ts';
export type { CountedSource, SourceView } from './registry/sources.ts';
export type { Bearer, TokenView } from './registry/tokens.ts';
export type { UserView } from './registry/users.ts';
export { type AddressClass, addressClass } from './system/address-class.ts';
export type { UrlRules } from './system/admit-url.ts';
export { AUDIT_RETENTION_MS, type AuditFact } from './system/audit.ts';
export { type LeaseTerms, ServerLease, type ServerLeasePorts } from './system/server-lease.ts';
export {
  type CommitCause,
  type Committed,
  type PullAnswer,
  type PullCall,
  Tidemark,
  type TidemarkParts,
} from './tidemark.ts';
export { UPLOAD_KIND, UPLOAD_QUEUE } from './uploads/upload-job.ts';
