import { Deleted, PingReport, User } from '@tidemark/protocol/admin-schemas';
import { Type } from 'typebox';
import { requireRightOverUser } from '../auth/administrator-rights.ts';
import { route } from '../http/route.ts';
import { type DocumentOwner, docnamesRoute, documentRoutes } from './documents.ts';
import { pageOf } from './paging.ts';
import { Names, PageQuery, Text } from './shapes.ts';

const Attributes = Type.Object({ attributes: Type.Unknown() }, { additionalProperties: false });
const UserParams = Type.Object({ user_id: Text });
const ClientParams = Type.Object({ user_id: Text, client_id: Text });

/** `*` stands for everybody: the shared documents of the source. */
const owner: DocumentOwner = {
  name: 'a user and source, or with user * the shared ones',
  path: '/rc/v1/users/:user_id/sources/:source_id/docs',
  params: { user_id: Text, source_id: Text },
  scopeOf: ({ user_id = '', source_id: source = '' }) =>
    user_id === '*' ? { kind: 'shared', source } : { kind: 'user', source, user: user_id },
};

const create = route({
  method: 'POST',
  path: '/rc/v1/users',
  scope: 'admin',
  summary: 'Create a user',
  body: Attributes,
  answer: User,
  audit: 'user.create',
  handle: ({ desk, body }) => desk.tidemark.users.create(body),
});

const list = route({
  method: 'GET',
  path: '/rc/v1/users',
  scope: 'read',
  summary: 'The logins of all users, sorted',
  query: PageQuery,
  answer: Names,
  handle: ({ desk, query }) => desk.tidemark.users.list(pageOf(query)),
});

const get = route({
  method: 'GET',
  path: '/rc/v1/users/:user_id',
  scope: 'read',
  summary: 'What is known of a user',
  params: UserParams,
  answer: User,
  handle: ({ desk, params }) => desk.tidemark.users.get(params.user_id),
});

const update = route({
  method: 'PUT',
  path: '/rc/v1/users/:user_id',
  tells: 'sessions',
  scope: 'admin',
  summary: 'Update the attributes of a user',
  params: UserParams,
  body: Attributes,
  answer: User,
  audit: 'user.update',
  handle: async ({ desk, params, body, bearer }) => {
    if (setsPassword(body.attributes)) await requireRightOverUser(desk.tidemark, bearer, params.user_id);
    return desk.tidemark.users.update(params.user_id, body);
  },
});

const remove = route({
  method: 'DELETE',
  path: '/rc/v1/users/:user_id',
  tells: 'sessions',
  scope: 'admin',
  summary: 'Delete a user with all devices, documents and tokens',
  params: UserParams,
  answer: Deleted,
  audit: 'user.delete',
  handle: async ({ desk, params, bearer }) => {
    await requireRightOverUser(desk.tidemark, bearer, params.user_id);
    return desk.tidemark.users.delete(params.user_id, bearer?.user);
  },
});

const clients = route({
  method: 'GET',
  path: '/rc/v1/users/:user_id/clients',
  scope: 'read',
  summary: 'The ids of the devices of a user',
  params: UserParams,
  answer: Names,
  handle: ({ desk, params }) => desk.tidemark.clients.listOf(params.user_id),
});

const removeClient = route({
  method: 'DELETE',
  path: '/rc/v1/users/:user_id/clients/:client_id',
  tells: 'sessions',
  scope: 'admin',
  summary: 'Delete a device of a user',
  params: ClientParams,
  answer: Deleted,
  audit: 'client.delete',
  handle: ({ desk, params }) => desk.tidemark.clients.delete(params.user_id, params.client_id),
});

const ping = route({
  method: 'POST',
  path: '/rc/v1/users/ping',
  scope: 'admin',
  summary: 'Send a push message to all devices of the given users',
  body: Type.Record(Text, Type.Unknown()),
  answer: PingReport,
  audit: 'ping',
  auditTarget: (answer) => `/rc/v1/pings/${(answer as PingReport).ping_id}`,
  handle: ({ desk, body, bearer }) => desk.pings.send(body, bearer?.user ?? ''),
});

function setsPassword(attributes: unknown): boolean {
  return typeof attributes === 'object' && attributes !== null && Object.hasOwn(attributes, 'password');
}

export const userRoutes = [
  create,
  list,
  get,
  update,
  remove,
  clients,
  removeClient,
  docnamesRoute(owner),
  ...documentRoutes(owner),
  ping,
];
