import type { Route } from '../http/route.ts';
import { auditRoutes } from './audit.ts';
import { clientRoutes } from './clients.ts';
import { pushRoutes } from './push.ts';
import { readStateRoutes } from './read-state.ts';
import { sourceRoutes } from './sources.ts';
import { storeRoutes } from './store.ts';
import { systemRoutes } from './system.ts';
import { tokenRoutes } from './tokens.ts';
import { userRoutes } from './users.ts';

/** Every route with a token, in the order of the specification, then ours. */
export const allRoutes: readonly Route[] = [
  ...systemRoutes,
  ...storeRoutes,
  ...userRoutes,
  ...readStateRoutes,
  ...sourceRoutes,
  ...clientRoutes,
  ...pushRoutes,
  ...tokenRoutes,
  ...auditRoutes,
];
