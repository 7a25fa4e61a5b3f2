import { Type } from 'typebox';
import { EventStream, route } from '../../http/route.ts';
import { actingDevice } from './acting-device.ts';

const events = route({
  method: 'GET',
  path: '/sync/v1/events',
  operationId: 'deviceEvents',
  scope: 'device',
  summary: 'Stream of events about changes',
  answer: Type.String({
    description: 'Server-Sent Events; docs/sync-protocol.md lists them.',
    examples: ['event: changed\ndata: {"source":"Product"}\n\n'],
  }),
  streams: 'text/event-stream',
  handle: async ({ context, bearer }) => {
    const device = actingDevice(bearer);
    context.events.requireRoom(device);
    return new EventStream((response) => context.events.connect(device, response));
  },
});

export const eventRoutes = [events];
