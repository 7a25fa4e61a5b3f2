import type { Route } from '../http/route.ts';
import { activityRoutes } from './activity.ts';
import { auditRoutes } from './audit.ts';
import { backupRoutes } from './backups.ts';
import { clientRoutes } from './clients.ts';
import { connectorRoutes } from './connectors.ts';
import { deliveryRoutes } from './delivery.ts';
import { storeRoutes } from './documents.ts';
import { fileRoutes } from './files.ts';
import { groupRoutes } from './groups.ts';
import { jobRoutes } from './jobs.ts';
import { linkedFileRoutes } from './linked-files.ts';
import { pingRoutes } from './pings.ts';
import { pushRoutes } from './push.ts';
import { readStateRoutes } from './read-state.ts';
import { receiptRoutes } from './receipts.ts';
import { sessionRoutes as consoleSessionRoutes } from './session.ts';
import { sourceSchemaRoutes } from './source-schemas.ts';
import { sourceRoutes } from './sources.ts';
import { deviceClientRoutes } from './sync/clients.ts';
import { eventRoutes } from './sync/events.ts';
import { deviceFileRoutes } from './sync/files.ts';
import { pullRoutes } from './sync/pull.ts';
import { uploadRoutes } from './sync/push.ts';
import { searchRoutes } from './sync/search.ts';
import { sessionRoutes } from './sync/session.ts';
import { snapshotRoutes } from './sync/snapshot.ts';
import { systemRoutes } from './system.ts';
import { tokenRoutes } from './tokens.ts';
import { userRoutes } from './users.ts';

/** Every route that needs a token, in the order of the specification, then our own routes, then those for devices. */
export const allRoutes: readonly Route[] = [
  ...systemRoutes,
  ...backupRoutes,
  ...connectorRoutes,
  ...storeRoutes,
  ...userRoutes,
  ...groupRoutes,
  ...readStateRoutes,
  ...sourceRoutes,
  ...sourceSchemaRoutes,
  ...receiptRoutes,
  ...deliveryRoutes,
  ...clientRoutes,
  ...pushRoutes,
  ...fileRoutes,
  ...linkedFileRoutes,
  ...tokenRoutes,
  ...consoleSessionRoutes,
  ...auditRoutes,
  ...activityRoutes,
  ...pingRoutes,
  ...sessionRoutes,
  ...deviceClientRoutes,
  ...pullRoutes,
  ...uploadRoutes,
  ...eventRoutes,
  ...snapshotRoutes,
  ...searchRoutes,
  ...deviceFileRoutes,
  ...jobRoutes,
];
