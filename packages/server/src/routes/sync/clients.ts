import { WipeOrder } from '@tidemark/protocol/admin/clients';
import { Deleted } from '@tidemark/protocol/admin/deleted';
import { closed } from '@tidemark/protocol/annotated';
import { ResetRequest, WipedReport } from '@tidemark/protocol/sync-schemas';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../../http/documented-schema.ts';
import { route } from '../../http/route.ts';
import { DeviceAttributes } from '../request-shapes.ts';
import { ClientId, names } from '../shapes.ts';
import { actingDevice, ownDevice } from './acting-device.ts';

/** Admission checks the attributes of a device and names each mistake. */
const Attributes = Type.Object({}, { additionalProperties: true, ...documentedAs(DeviceAttributes) });
const Registered = Type.Object(
  { client_id: ClientId },
  { ...closed, title: 'Registered', description: 'The device that was registered.' },
);
const ById = Type.Object({ client_id: ClientId });

const register = route({
  method: 'POST',
  path: '/sync/v1/clients',
  operationId: 'deviceRegister',
  scope: 'device',
  summary: 'Register a device with its attributes',
  refusals: ['client_not_found', 'immutable_attribute', 'forbidden_key', 'invalid_value'],
  body: Attributes,
  answer: Registered,
  handle: async ({ context, body, bearer }) => {
    const { client_id: named } = body as { readonly client_id?: unknown };
    const { user, client } = actingDevice(bearer, typeof named === 'string' ? named : undefined);
    const { client_id } = await context.tidemark.clients.update(user, client, body);
    return { client_id };
  },
});

const update = route({
  method: 'PUT',
  path: '/sync/v1/clients/:client_id',
  operationId: 'deviceUpdate',
  scope: 'device',
  summary: 'Update the attributes of the device',
  refusals: ['immutable_attribute', 'forbidden_key', 'invalid_value'],
  params: ById,
  body: Attributes,
  answer: Registered,
  handle: async ({ context, params, body, bearer }) => {
    const { user, client } = actingDevice(bearer, params.client_id);
    const { client_id } = await context.tidemark.clients.update(user, client, body);
    return { client_id };
  },
});

const remove = route({
  method: 'DELETE',
  path: '/sync/v1/clients/:client_id',
  operationId: 'deviceDelete',
  announces: 'sessions',
  scope: 'device',
  summary: 'Delete the device with its tokens, tidemarks and documents',
  params: ById,
  answer: Deleted,
  audit: 'device.delete',
  handle: async ({ context, params, bearer }) => {
    const { user, client } = await ownDevice(context, bearer, params.client_id);
    const answer = await context.tidemark.clients.delete(user, client);
    context.events.signOut(client);
    return answer;
  },
});

const reset = route({
  method: 'POST',
  path: '/sync/v1/clients/:client_id/reset',
  operationId: 'deviceReset',
  scope: 'device',
  summary: 'Start over at the next pull, with some sources or with all',
  refusals: ['source_not_found'],
  params: ById,
  body: ResetRequest,
  answer: Type.Object(
    { reset: names('The sources that the device starts over with.', ['Product']) },
    { ...closed, title: 'ResetAnswer', description: 'What the device starts over with at its next pull.' },
  ),
  handle: async ({ context, params, body, bearer }) => {
    const device = actingDevice(bearer, params.client_id);
    return { reset: await context.tidemark.devices.restart(device, body.sources) };
  },
});

const wiped = route({
  method: 'POST',
  path: '/sync/v1/clients/:client_id/wiped',
  operationId: 'deviceWiped',
  announces: 'sessions',
  scope: 'device',
  summary: 'Confirm that the device has erased its data',
  description: 'To be called after a call was refused with `client_wiped`. The tokens of the device end with it.',
  refusals: ['wipe_not_ordered'],
  params: ById,
  body: WipedReport,
  answer: WipeOrder,
  audit: 'device.wiped',
  handle: async ({ context, params, body, bearer }) => {
    const { user, client } = actingDevice(bearer, params.client_id);
    const order = await context.tidemark.clients.wipes.confirm(user, client, body.unsent_uploads);
    context.events.signOut(client);
    return order;
  },
});

export const deviceClientRoutes = [register, update, remove, reset, wiped];
