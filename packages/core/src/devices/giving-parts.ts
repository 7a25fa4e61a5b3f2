import type { Limits } from '@tidemark/protocol';
import type { PageCache } from '../pages/page-cache.ts';
import type { Store } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import type { Sources } from '../registry/sources.ts';
import type { DeviceSessions } from './device-sessions.ts';
import type { Visits } from './visits.ts';

/** What it takes to give pages to devices, in whatever way. */
export interface GivingParts {
  readonly store: Store;
  readonly limits: Limits;
  readonly sessions: DeviceSessions;
  readonly sources: Sources;
  readonly cache: PageCache;
  readonly visits: Visits;
  readonly refresher: Pick<Refresher, 'ensureFresh'>;
}
