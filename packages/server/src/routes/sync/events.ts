import { PULL_SOURCES_MAX } from '@tidemark/protocol';
import { Type } from '@tidemark/protocol/typebox';
import { EventStream, route } from '../../http/route.ts';
import { ownDevice } from './acting-device.ts';

const events = route({
  method: 'GET',
  path: '/sync/v1/events',
  operationId: 'deviceEvents',
  scope: 'device',
  summary: 'Stream of events about changes',
  query: Type.Object({
    pages: Type.Optional(
      Type.Union([Type.String(), Type.Array(Type.String(), { maxItems: PULL_SOURCES_MAX })], {
        description:
          'A source, repeated for several, or `*` for all: the event `changed` then carries the page of a small change. Absent: it never does.',
        examples: ['*'],
      }),
    ),
  }),
  answer: Type.String({
    description: 'Server-Sent Events; docs/reference/sync-protocol.md lists them.',
    examples: ['event: changed\ndata: {"source":"Product"}\n\n'],
  }),
  streams: 'text/event-stream',
  handle: async ({ context, query: { pages = [] }, bearer }) => {
    const device = await ownDevice(context, bearer);
    context.events.requireRoom(device);
    return new EventStream((response) =>
      context.events.connect(device, response, typeof pages === 'string' ? [pages] : pages),
    );
  },
});

export const eventRoutes = [events];
