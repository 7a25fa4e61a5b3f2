import { SearchRequest } from '@tidemark/protocol/sync-schemas';
import { Type } from 'typebox';
import { JsonText, route } from '../../http/route.ts';
import { actingDevice } from './acting-device.ts';

const search = route({
  method: 'POST',
  path: '/sync/v1/search',
  scope: 'device',
  summary: "Ask the source's adapter; nothing of the answer is kept",
  body: SearchRequest,
  answer: Type.Object(
    { objects: Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())) },
    { additionalProperties: false },
  ),
  handle: async ({ desk, body, bearer }) => {
    const { user, client } = actingDevice(bearer);
    const startedMs = performance.now();
    const objects = await desk.searches.run(client, () =>
      desk.tidemark.search({ source: body.source, user_id: user, params: body.params }),
    );
    desk.tidemark.stats.record(`sources:search:${body.source}`, performance.now() - startedMs, desk.nowMs());
    return new JsonText(`{"objects":${objects}}`);
  },
});

export const searchRoutes = [search];
