import { closed, objects } from '@tidemark/protocol/annotated';
import { SearchRequest } from '@tidemark/protocol/sync-schemas';
import { Type } from '@tidemark/protocol/typebox';
import { JsonText, route } from '../../http/route.ts';
import { OBJECT_REFUSALS } from '../../http/route-refusals.ts';
import { ownDevice } from './acting-device.ts';

const search = route({
  method: 'POST',
  path: '/sync/v1/search',
  operationId: 'deviceSearch',
  scope: 'device',
  summary: "Ask the source's adapter; nothing of the answer is kept",
  refusals: [
    'source_not_found',
    'search_not_available',
    'group_required',
    'not_a_member',
    ...OBJECT_REFUSALS,
    'backend_error',
    'backend_unavailable',
    'backend_timeout',
    'rate_limited',
  ],
  body: SearchRequest,
  answer: Type.Object(
    { objects: objects('The found objects: object id → attributes.') },
    { ...closed, title: 'SearchAnswer', description: 'The result of a search.' },
  ),
  handle: async ({ context, body, bearer }) => {
    const { user, client } = await ownDevice(context, bearer);
    const startedMs = performance.now();
    const found = await context.searches.run(client, () =>
      context.tidemark.search({
        ...{ source: body.source, user_id: user, params: body.params },
        ...(body.group === undefined ? {} : { group: body.group }),
      }),
    );
    context.tidemark.stats.record(`sources:search:${body.source}`, performance.now() - startedMs, context.nowMs());
    return new JsonText(`{"objects":${found}}`);
  },
});

export const searchRoutes = [search];
