import { INTERVAL_S_MAX } from '@tidemark/protocol';
import { RefreshDue } from '@tidemark/protocol/admin/sources';
import { closed } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { type Route, route } from '../http/route.ts';
import { MEMBERSHIP_REFUSALS } from '../http/route-refusals.ts';
import { SourceId, UserId } from './shapes.ts';

const RefreshTime = Type.Integer({
  minimum: 0,
  maximum: INTERVAL_S_MAX,
  description: 'Seconds from now until the source is due; absent: it is due at the next sync.',
  examples: [60],
});

/** The suffix of the operation ids for each spelling. */
const SPELLINGS = { read_state: '', readstate: 'Readstate' } as const;

/** The specification has two methods and two spellings of the path for the same route. */
function readState(method: 'POST' | 'PUT', segment: 'read_state' | 'readstate'): Route {
  return route({
    method,
    path: `/rc/v1/${segment}/users/:user_id/sources/:source_id`,
    operationId: `sourcesRefresh${SPELLINGS[segment]}${method === 'PUT' ? 'ByPut' : ''}`,
    scope: 'admin',
    summary: 'Set when a source is due to be refreshed',
    refusals: ['invalid_value', ...MEMBERSHIP_REFUSALS],
    params: Type.Object({ user_id: UserId, source_id: SourceId }),
    body: Type.Object(
      { refresh_time: Type.Optional(Type.Unknown(documentedAs(RefreshTime))) },
      { ...closed, title: 'ReadState', description: 'When the source is due.' },
    ),
    answer: RefreshDue,
    audit: 'read_state.set',
    handle: ({ context, params, body }) =>
      context.tidemark.sources.refreshTimes.set(params.source_id, params.user_id, body.refresh_time),
  });
}

export const readStateRoutes = [
  readState('POST', 'read_state'),
  readState('PUT', 'read_state'),
  readState('POST', 'readstate'),
  readState('PUT', 'readstate'),
];
