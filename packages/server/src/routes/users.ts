import { DETAILS_USER_DEVICES_MAX } from '@tidemark/protocol';
import { Deleted } from '@tidemark/protocol/admin/deleted';
import { PingReport } from '@tidemark/protocol/admin/pings';
import { ChangedUser, Invite, User, UserList } from '@tidemark/protocol/admin/users';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import type { ActivityFact } from '../activity/activity-filter.ts';
import { requireRightOverToken, requireRightOverUser } from '../auth/administrator-rights.ts';
import { documentedAs } from '../http/documented-schema.ts';
import { route } from '../http/route.ts';
import { OBJECT_REFUSALS } from '../http/route-refusals.ts';
import { type DocumentOwner, docnamesRoute, documentRoutes, objectsRoute } from './documents.ts';
import { flagsOf, numbersOf, pageOf, textsOf } from './paging.ts';
import { NewUserAttributes, PingRequest, UserChanges } from './request-shapes.ts';
import { ClientId, GroupId, names, pageQuery, queryFlag, queryNumber, SourceId, UserId } from './shapes.ts';

const NewUserBody = Type.Object(
  { attributes: Type.Unknown(documentedAs(NewUserAttributes)) },
  { ...closed, title: 'NewUser', description: 'A user to create.' },
);
const UserChangesBody = Type.Object(
  {
    attributes: Type.Unknown(documentedAs(UserChanges)),
    revoke_tokens: Type.Optional(
      Type.Boolean({
        description: 'True: a new password of an administrator ends the named tokens, too.',
        examples: [true],
      }),
    ),
  },
  { ...closed, title: 'UserUpdate', description: 'What to change about a user.' },
);
const UserParams = Type.Object({ user_id: UserId });
const ClientParams = Type.Object({ user_id: UserId, client_id: ClientId });

/** `*` stands for all users: the shared documents of the source. */
const owner: DocumentOwner = {
  name: 'a user and source, or with user * the shared ones',
  path: '/rc/v1/users/:user_id/sources/:source_id/docs',
  id: 'OfUser',
  params: {
    user_id: text('The login of the user; `*`: the documents that all users share.', 'anna'),
    source_id: SourceId,
  },
  scopeOf: ({ user_id = '', source_id: source = '' }) =>
    user_id === '*' ? { kind: 'shared', source } : { kind: 'user', source, user: user_id },
};

const create = route({
  method: 'POST',
  path: '/rc/v1/users',
  operationId: 'usersCreate',
  scope: 'admin',
  summary: 'Create a user',
  refusals: ['user_exists', 'reserved_attribute', ...OBJECT_REFUSALS],
  body: NewUserBody,
  answer: User,
  audit: 'user.create',
  handle: ({ context, body }) => context.tidemark.users.create(body),
});

const list = route({
  method: 'GET',
  path: '/rc/v1/users',
  operationId: 'usersList',
  scope: 'read',
  summary: 'The logins of all users, sorted',
  refusals: ['invalid_name'],
  query: pageQuery('a login', 'anna', {}),
  answer: names('Logins, sorted.', ['anna', 'bob']),
  handle: ({ context, query }) => context.tidemark.users.list(pageOf(query)),
});

/** `GET /rc/v1/users` answers logins alone, and a path below it would be that of a user. */
const details = route({
  method: 'GET',
  path: '/rc/v1/user_details',
  operationId: 'usersDetails',
  scope: 'read',
  summary: 'All users, with their devices, groups, last contact and how far they are behind',
  description: `Users are listed by login. A page looks at a bounded number of users: with filters it may be short, or empty, and \`next\` leads on. Of the devices of a user the first ${DETAILS_USER_DEVICES_MAX} are looked at.`,
  refusals: ['invalid_name', 'invalid_value'],
  query: pageQuery('its `next`', 'anna', {
    text: Type.Optional(
      text('Only users whose login, groups or attributes contain the text, in any case.', 'example.org'),
    ),
    group: Type.Optional(GroupId),
    behind: queryFlag('`true`: only users whose devices have not acknowledged all changes.'),
    not_seen_days: queryNumber('Only users whose devices had no contact for so many days.', 7),
    created_days: queryNumber('Only users who were created in the last so many days.', 30),
    has_devices: queryFlag('`true`: only users with devices; `false`: only users without.'),
  }),
  answer: UserList,
  handle: ({ context: { tidemark, liveDevices }, query }) =>
    tidemark.listings.users.page({
      findListening: (clients) => liveDevices.listeningOf(clients),
      ...pageOf(query),
      ...textsOf(query, 'text', 'group'),
      ...flagsOf(query, 'behind', 'has_devices'),
      ...numbersOf(query, 'not_seen_days', 'created_days'),
    }),
});

const get = route({
  method: 'GET',
  path: '/rc/v1/users/:user_id',
  operationId: 'usersGet',
  scope: 'read',
  summary: 'The attributes of a user',
  params: UserParams,
  answer: User,
  handle: ({ context, params }) => context.tidemark.users.get(params.user_id),
});

const update = route({
  method: 'PUT',
  path: '/rc/v1/users/:user_id',
  operationId: 'usersUpdate',
  announces: 'sessions',
  scope: 'admin',
  summary: 'Update the attributes of a user',
  description: 'Sets the attributes given and leaves the others; `password` among them sets the password.',
  refusals: ['immutable_attribute', 'reserved_attribute', ...OBJECT_REFUSALS],
  params: UserParams,
  body: UserChangesBody,
  answer: ChangedUser,
  audit: 'user.update',
  handle: async ({ context: { tidemark, nowMs }, params, body, bearer }) => {
    if (!setsPassword(body.attributes)) return tidemark.users.update(params.user_id, body);
    await requireRightOverUser(tidemark, bearer, params.user_id);
    const user = await tidemark.users.update(params.user_id, body);
    const kept_tokens = await tidemark.tokens.serviceTokensOf(params.user_id, nowMs());
    return kept_tokens.length === 0 ? user : { ...user, kept_tokens };
  },
});

const remove = route({
  method: 'DELETE',
  path: '/rc/v1/users/:user_id',
  operationId: 'usersDelete',
  announces: 'sessions',
  scope: 'admin',
  summary: 'Delete a user with all devices, documents and tokens',
  refusals: ['last_admin'],
  params: UserParams,
  answer: Deleted,
  audit: 'user.delete',
  handle: async ({ context, params, bearer }) => {
    await requireRightOverUser(context.tidemark, bearer, params.user_id);
    return context.tidemark.users.delete(params.user_id, bearer?.user);
  },
});

/** The code is behind the `#`, which browsers keep to themselves: it never gets into the log of a server or proxy. */
function inviteLink(publicUrl: string, code: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/invite#${code}`;
}

const invite = route({
  method: 'POST',
  path: '/rc/v1/users/:user_id/invite',
  operationId: 'usersInvite',
  scope: 'admin',
  summary: 'Make a code with which a device of the user signs in once',
  description:
    'The device sends it as `invite` to `POST /sync/v1/login`. The user needs no password. A new invite ends the one before; so do a new password and the deletion of the user.',
  refusals: ['invalid_value'],
  params: UserParams,
  body: Type.Object(
    {
      expires_in_s: Type.Optional(
        Type.Integer({ description: 'How long the code counts, in seconds. Absent: a day.', examples: [3_600] }),
      ),
      keep_earlier: Type.Optional(
        Type.Boolean({
          description:
            'True: an invite that was made without it stays valid; only an earlier one that was made with it ends.',
          examples: [true],
        }),
      ),
    },
    { ...closed, title: 'InviteRequest', description: 'How long an invite counts, and what it ends.' },
  ),
  answer: Invite,
  audit: 'user.invite',
  handle: async ({ context: { tidemark, publicUrl }, params, body, bearer }) => {
    await requireRightOverUser(tidemark, bearer, params.user_id);
    const invite = await tidemark.invites.issue(params.user_id, {
      lifetimeS: body.expires_in_s,
      keepsEarlier: body.keep_earlier,
    });
    return { ...invite, link: publicUrl === null ? null : inviteLink(publicUrl, invite.code) };
  },
});

const clients = route({
  method: 'GET',
  path: '/rc/v1/users/:user_id/clients',
  operationId: 'usersClients',
  scope: 'read',
  summary: 'The ids of the devices of a user',
  params: UserParams,
  answer: names('Ids of devices.', ['c3f1a2b4']),
  handle: ({ context, params }) => context.tidemark.clients.listOf(params.user_id),
});

const removeClient = route({
  method: 'DELETE',
  path: '/rc/v1/users/:user_id/clients/:client_id',
  operationId: 'usersDeleteClient',
  announces: 'sessions',
  scope: 'admin',
  summary: 'Delete a device of a user',
  params: ClientParams,
  answer: Deleted,
  audit: 'client.delete',
  handle: async ({ context: { tidemark }, params: { user_id: user, client_id }, bearer }) => {
    // The device loses its token.
    await requireRightOverToken(tidemark, bearer, { user, scopes: [] });
    return tidemark.clients.delete(user, client_id);
  },
});

const ping = route({
  method: 'POST',
  path: '/rc/v1/users/ping',
  operationId: 'usersPing',
  scope: 'admin',
  summary: 'Send a push message to all devices of the given users',
  refusals: ['forbidden_key', 'invalid_name', 'invalid_value', 'source_not_found', 'rate_limited', 'queue_full'],
  body: Type.Record(Type.String(), Type.Unknown(), documentedAs(PingRequest)),
  answer: PingReport,
  audit: 'ping',
  auditTarget: (answer) => `/rc/v1/pings/${(answer as PingReport).ping_id}`,
  activity: ({ body }, answer) => [{ fact: pingFact(body, answer as PingReport) }],
  handle: ({ context, body, bearer }) => context.pings.send(body, bearer?.user ?? ''),
});

/** A ping to many users is not shown to those who only watch one of them; its results on devices are. */
function pingFact(body: Readonly<Record<string, unknown>>, { ping_id, devices }: PingReport): ActivityFact {
  const users = [body.user_id].flat();
  const sources = [body.sources ?? []].flat().map(String);
  const user_id = users.length === 1 ? String(users[0]) : null;
  return { kind: 'ping', user_id, client_id: null, source: null, ping_id, sources, devices, status: null };
}

function setsPassword(attributes: unknown): boolean {
  return typeof attributes === 'object' && attributes !== null && Object.hasOwn(attributes, 'password');
}

export const userRoutes = [
  create,
  list,
  details,
  get,
  update,
  remove,
  invite,
  clients,
  removeClient,
  docnamesRoute(owner),
  objectsRoute('documentsObjects', owner),
  ...documentRoutes(owner),
  ping,
];
