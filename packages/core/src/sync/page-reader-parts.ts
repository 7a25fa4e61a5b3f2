import type { Limits } from '@tidemark/protocol';
import type { DeviceSessions } from '../devices/device-sessions.ts';
import type { PageCache } from '../pages/page-cache.ts';
import type { Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import type { Sources } from '../sources/sources.ts';
import type { LastSeenRecorder } from './last-seen-recorder.ts';

/** What it takes to give pages to devices, in whatever way. */
export interface PageReaderParts {
  readonly store: Store;
  readonly limits: Limits;
  readonly sessions: DeviceSessions;
  readonly sources: Sources;
  readonly cache: PageCache;
  readonly visits: LastSeenRecorder;
  readonly refresher: Pick<Refresher, 'ensureFresh'>;
}
