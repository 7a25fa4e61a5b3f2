import { RefreshDue } from '@tidemark/protocol/admin-schemas';
import { Type } from 'typebox';
import { type Route, route } from '../http/route.ts';
import { Text } from './shapes.ts';

/** The specification gives the method in two ways and the path in two spellings: all four are the same route. */
function readState(method: 'POST' | 'PUT', segment: 'read_state' | 'readstate'): Route {
  return route({
    method,
    path: `/rc/v1/${segment}/users/:user_id/sources/:source_id`,
    scope: 'admin',
    summary: 'Set when a source is due to be refreshed',
    params: Type.Object({ user_id: Text, source_id: Text }),
    body: Type.Object({ refresh_time: Type.Optional(Type.Unknown()) }, { additionalProperties: false }),
    answer: RefreshDue,
    audit: 'read_state.set',
    handle: ({ desk, params, body }) =>
      desk.tidemark.sources.setRefreshTime(params.source_id, params.user_id, body.refresh_time),
  });
}

export const readStateRoutes = [
  readState('POST', 'read_state'),
  readState('PUT', 'read_state'),
  readState('POST', 'readstate'),
  readState('PUT', 'readstate'),
];
