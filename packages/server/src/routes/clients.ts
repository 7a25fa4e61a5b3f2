import { Client } from '@tidemark/protocol/admin-schemas';
import { Type } from 'typebox';
import { route } from '../http/route.ts';
import { type DocumentOwner, docnamesRoute, documentRoutes } from './documents.ts';
import { ClientId, SourceId } from './shapes.ts';

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

export const clientRoutes = [get, docnamesRoute(owner), ...documentRoutes(owner)];
