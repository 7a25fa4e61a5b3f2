import { Client, WipeOrder } from '@tidemark/protocol/admin/clients';
import { Type } from '@tidemark/protocol/typebox';
import { route } from '../http/route.ts';
import { type DocumentOwner, docnamesRoute, documentRoutes } from './documents.ts';
import { ClientId, Empty, SourceId } from './shapes.ts';

const owner: DocumentOwner = {
  name: 'a device and source',
  path: '/rc/v1/clients/:client_id/sources/:source_id/docs',
  id: 'OfClient',
  params: { client_id: ClientId, source_id: SourceId },
  scopeOf: ({ client_id: client = '', source_id: source = '' }) => ({ kind: 'client', source, client }),
};

const get = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id',
  operationId: 'clientsGet',
  scope: 'read',
  summary: 'The attributes of a device',
  params: Type.Object({ client_id: ClientId }),
  answer: Client,
  handle: async ({ context, params, bearer }) => {
    const { tidemark } = context;
    const view = await tidemark.clients.get(params.client_id);
    const cursors = await tidemark.devices.cursors({ user: view.user_id, client: view.client_id });
    const client = { ...view, cursors };
    // Whoever knows the push address of a device can send pings to its user.
    const maySeePin = bearer?.scopes.includes('admin') === true;
    return maySeePin || client.device_pin === null ? client : { ...client, device_pin: '***' };
  },
});

const wipe = route({
  method: 'POST',
  path: '/rc/v1/clients/:client_id/wipe',
  operationId: 'clientsWipe',
  scope: 'admin',
  summary: 'Order a device to erase itself',
  description:
    'The device gets no more data. At its next call it erases all data, unsent uploads and its token, and confirms. `wipe` of the device tells the state of the order. An order cannot be taken back; repeating it changes nothing.',
  params: Type.Object({ client_id: ClientId }),
  body: Empty,
  answer: WipeOrder,
  audit: 'client.wipe',
  handle: async ({ context, params, bearer }) => {
    const { user_id, wipe: order } = await context.tidemark.clients.orderWipe(params.client_id, bearer?.user ?? '');
    // Ends the stream of the device, at whichever server it listens, so that it calls at once.
    context.cluster.announce('sessions', user_id);
    return order;
  },
});

export const clientRoutes = [get, wipe, docnamesRoute(owner), ...documentRoutes(owner)];
