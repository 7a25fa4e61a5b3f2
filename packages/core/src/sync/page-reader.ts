import type { Limits, PartialError } from '@tidemark/protocol';
import type { DeviceSessions } from '../devices/device-sessions.ts';
import type { PageCache } from '../pages/page-cache.ts';
import { isCatchingUp, readToken } from '../pages/token.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/source-view.ts';
import type { Sources } from '../sources/sources.ts';
import type { LastSeenRecorder } from './last-seen-recorder.ts';

/** What pulls and snapshots need to read pages for devices. */
export interface PageReaderParts {
  readonly store: Store;
  readonly limits: Limits;
  readonly sessions: DeviceSessions;
  readonly sources: Sources;
  readonly cache: PageCache;
  readonly lastSeen: LastSeenRecorder;
  readonly refresher: Pick<Refresher, 'ensureFresh'>;
}

const FRESH = Promise.resolve(null);

/**
 * Refreshes the partition from its backend if it is due, and returns what went wrong. A device in the middle of its pages
 * goes on with the state in which it began.
 */
export function ensureFresh(
  refresher: Pick<Refresher, 'ensureFresh'>,
  partition: PartitionKey,
  { adapter }: SourceView,
  token: string | null,
): Promise<PartialError | null> {
  if (adapter === NO_ADAPTER) return FRESH;
  const presented = token === null ? null : readToken(token);
  if (presented !== null && isCatchingUp(presented)) return FRESH;
  return refresher.ensureFresh({ partition });
}
