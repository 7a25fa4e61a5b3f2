import type { ClientView } from '@tidemark/core';
import { CLIENT_NAMES_MAX, nameProblem, parseJson, pointer, Refusal } from '@tidemark/protocol';
import { Client, ClientList, EndedSessions, NamedClient, WipeOrder } from '@tidemark/protocol/admin/clients';
import { closed, nullableText, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { requireRightOverToken } from '../auth/administrator-rights.ts';
import { documentedAs } from '../http/documented-schema.ts';
import { type RouteContext, route } from '../http/route.ts';
import { type DocumentOwner, docnamesRoute, documentRoutes } from './documents.ts';
import { flagsOf, numbersOf, pageOf, textsOf } from './paging.ts';
import { ClientId, Empty, pageQuery, queryFlag, queryNumber, SourceId, UserId } from './shapes.ts';

const owner: DocumentOwner = {
  name: 'a device and source',
  path: '/rc/v1/clients/:client_id/sources/:source_id/docs',
  id: 'OfClient',
  params: { client_id: ClientId, source_id: SourceId },
  scopeOf: ({ client_id: client = '', source_id: source = '' }) => ({ kind: 'client', source, client }),
};

const list = route({
  method: 'GET',
  path: '/rc/v1/clients',
  operationId: 'clientsList',
  scope: 'read',
  summary: 'All devices, with app, system, last contact and how far they are behind',
  description:
    'Devices are listed by user and id. A page looks at a bounded number of devices: with filters it may be short, or empty, and `next` leads on.',
  refusals: ['invalid_name', 'invalid_value'],
  query: pageQuery('its `next`', 'anna/c3f1a2b4', {
    text: Type.Optional(
      text(
        'Only devices whose id, user, label, name, platform, system or app contains the text, in any case.',
        'firefox',
      ),
    ),
    user_id: Type.Optional(UserId),
    behind: queryFlag('`true`: only devices that have not acknowledged all changes.'),
    online: queryFlag('`true`: only devices that listen for events now; `false`: only those that do not.'),
    not_seen_days: queryNumber('Only devices without contact for so many days.', 7),
    app_version_below: Type.Optional(text('Only devices whose app has a lower version.', '2.4.0')),
  }),
  answer: ClientList,
  handle: ({ context: { tidemark, liveDevices }, query }) =>
    tidemark.listings.clients.page({
      findListening: (clients) => liveDevices.listeningOf(clients),
      ...pageOf(query),
      ...textsOf(query, 'text', 'user_id', 'app_version_below'),
      ...flagsOf(query, 'behind', 'online'),
      ...numbersOf(query, 'not_seen_days'),
    }),
});

/** Screens that show devices know only their ids, and a path below `/rc/v1/clients` would be that of a device. */
const names = route({
  method: 'GET',
  path: '/rc/v1/client_names',
  operationId: 'clientsNames',
  scope: 'read',
  summary: 'What people know some devices by',
  refusals: ['invalid_value'],
  query: Type.Object(
    { client_ids: text(`The ids of at most ${CLIENT_NAMES_MAX} devices, as a JSON list.`, '["c3f1a2b4"]') },
    closed,
  ),
  answer: Type.Array(NamedClient, {
    description: 'The devices, in the order of their ids; unknown ones are left out.',
  }),
  handle: async ({ context, query }) => {
    const ids = idsIn(query.client_ids).filter((id) => nameProblem('client', id) === null);
    const found = await Promise.all(ids.map((id) => context.tidemark.clients.find(id)));
    return found.flatMap((client) => (client === null ? [] : namedClient(client)));
  },
});

function idsIn(list: string): readonly string[] {
  const ids = readList(list);
  if (ids.length <= CLIENT_NAMES_MAX && ids.every((id) => typeof id === 'string')) return ids as readonly string[];
  const detail = `must be a JSON list of at most ${CLIENT_NAMES_MAX} ids`;
  throw new Refusal('invalid_value', `client_ids ${detail}`, [{ pointer: pointer('client_ids'), detail }]);
}

/** Returns a list that holds no id if the text is no list. */
function readList(text: string): readonly unknown[] {
  try {
    const list = parseJson(text);
    return Array.isArray(list) ? list : [null];
  } catch {
    return [null];
  }
}

function namedClient(client: ClientView): NamedClient {
  const { client_id, user_id, label, device_name, device_platform, device_system } = client;
  const { device_app_id, device_app_version } = client;
  return {
    ...{ client_id, user_id, label, device_name, device_platform, device_system },
    ...{ device_app_id, device_app_version },
  };
}

const get = route({
  method: 'GET',
  path: '/rc/v1/clients/:client_id',
  operationId: 'clientsGet',
  scope: 'read',
  summary: 'The attributes of a device',
  params: Type.Object({ client_id: ClientId }),
  answer: Client,
  handle: async ({ context, params, bearer }) => {
    const client = await withCursors(context, await context.tidemark.clients.get(params.client_id));
    // Whoever knows the push address of a device can send pings to its user.
    const maySeePin = bearer?.scopes.includes('admin') === true;
    return maySeePin || client.device_pin === null ? client : { ...client, device_pin: '***' };
  },
});

async function withCursors({ tidemark }: RouteContext, view: ClientView) {
  return { ...view, cursors: await tidemark.devices.cursors({ user: view.user_id, client: view.client_id }) };
}

/** What administrators may set; the other attributes are the device's own. */
const ClientChanges = Type.Object(
  { label: Type.Unknown(documentedAs(nullableText('What to call the device; null: nothing.', 'Van 7'))) },
  { ...closed, title: 'ClientChanges', description: 'What to change about a device.' },
);

const update = route({
  method: 'PUT',
  path: '/rc/v1/clients/:client_id',
  operationId: 'clientsSetLabel',
  scope: 'admin',
  summary: 'Set the label of a device',
  refusals: ['invalid_value'],
  params: Type.Object({ client_id: ClientId }),
  body: ClientChanges,
  answer: Client,
  audit: 'client.update',
  handle: async ({ context, params, body }) =>
    withCursors(context, await context.tidemark.clients.setLabel(params.client_id, body.label)),
});

const endSessions = route({
  method: 'DELETE',
  path: '/rc/v1/clients/:client_id/sessions',
  operationId: 'clientsEndSessions',
  scope: 'admin',
  summary: 'End all sessions of a device',
  description:
    'All tokens of the device are revoked. It keeps its data, and goes on when its user has signed in again. Refused for a device that is to be wiped: it needs its token to be told so.',
  refusals: ['client_wiped'],
  params: Type.Object({ client_id: ClientId }),
  answer: EndedSessions,
  audit: 'client.end_sessions',
  handle: async ({ context, params, bearer }) => {
    const { tidemark, cluster } = context;
    const { client_id, user_id: user } = await tidemark.clients.get(params.client_id);
    await requireRightOverToken(tidemark, bearer, { user, scopes: [] });
    await tidemark.clients.wipes.requireNonePending(client_id);
    const ended = await tidemark.tokens.revokeOfClient(user, client_id);
    // Ends the stream of the device, at whichever server it listens.
    cluster.announce('sessions', user);
    return { client_id, ended };
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
    const { tidemark, cluster } = context;
    const { user_id: user } = await tidemark.clients.get(params.client_id);
    // The device loses its token, and its user everything that was not sent yet.
    await requireRightOverToken(tidemark, bearer, { user, scopes: [] });
    const { user_id, wipe: order } = await tidemark.clients.wipes.order(params.client_id, bearer?.user ?? '');
    // Ends the stream of the device, at whichever server it listens, so that it calls at once.
    cluster.announce('sessions', user_id);
    return order;
  },
});

export const clientRoutes = [
  list,
  names,
  get,
  update,
  endSessions,
  wipe,
  docnamesRoute(owner),
  ...documentRoutes(owner),
];
