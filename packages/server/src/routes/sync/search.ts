import { Refusal } from '@tidemark/protocol';
import { SearchRequest } from '@tidemark/protocol/sync-schemas';
import { Type } from 'typebox';
import { route } from '../../http/route.ts';
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
    actingDevice(bearer);
    const { name } = await desk.tidemark.sources.get(body.source);
    throw new Refusal('search_not_available', `the source ${JSON.stringify(name)} has no adapter that can search`);
  },
});

export const searchRoutes = [search];
