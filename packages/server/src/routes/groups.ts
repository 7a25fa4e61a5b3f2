import { GROUP_MEMBERS_PER_CALL_MAX, GROUPS_PER_USER_MAX } from '@tidemark/protocol';
import { GroupDetails, GroupMembersReport, UserGroups } from '@tidemark/protocol/admin/users';
import { closed, texts } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';
import { route } from '../http/route.ts';
import { type DocumentOwner, docnamesRoute, documentRoutes, objectsRoute } from './documents.ts';
import { pageOf } from './paging.ts';
import { GroupId, names, pageQuery, SourceId, UserId } from './shapes.ts';

const UserParams = Type.Object({ user_id: UserId });
const GroupParams = Type.Object({ group: GroupId });

/** Checked by the core, which points at the name that is wrong. */
const GroupsBody = Type.Object(
  {
    groups: Type.Unknown(documentedAs(texts(`Names of groups, at most ${GROUPS_PER_USER_MAX}.`, ['north', 'south']))),
  },
  { ...closed, title: 'Groups', description: 'Groups of a user.' },
);
const MembersBody = Type.Object(
  {
    members: Type.Unknown(
      documentedAs(texts(`Logins of all members, at most ${GROUP_MEMBERS_PER_CALL_MAX}.`, ['anna', 'bob'])),
    ),
  },
  { ...closed, title: 'GroupMembers', description: 'The members of a group.' },
);

const owner: DocumentOwner = {
  name: 'a group and source',
  path: '/rc/v1/groups/:group/sources/:source_id/docs',
  id: 'OfGroup',
  params: { group: GroupId, source_id: SourceId },
  scopeOf: ({ group = '', source_id: source = '' }) => ({ kind: 'group', source, group }),
};

const get = route({
  method: 'GET',
  path: '/rc/v1/users/:user_id/groups',
  operationId: 'groupsOf',
  scope: 'read',
  summary: 'The groups of a user',
  params: UserParams,
  answer: UserGroups,
  handle: ({ context, params }) => context.tidemark.groups.get(params.user_id),
});

const set = route({
  method: 'PUT',
  path: '/rc/v1/users/:user_id/groups',
  operationId: 'groupsSet',
  scope: 'admin',
  summary: 'Make a user a member of exactly these groups',
  description:
    'The devices of the user get the data of new groups, and remove that of groups the user has left, at their next pull; devices that listen pull at once.',
  params: UserParams,
  body: GroupsBody,
  answer: UserGroups,
  audit: 'user.groups',
  handle: ({ context, params, body }) => context.tidemark.groups.set(params.user_id, body.groups),
});

const add = route({
  method: 'POST',
  path: '/rc/v1/users/:user_id/groups',
  operationId: 'groupsAdd',
  scope: 'admin',
  summary: 'Make a user a member of further groups',
  params: UserParams,
  body: GroupsBody,
  answer: UserGroups,
  audit: 'user.groups',
  handle: ({ context, params, body }) => context.tidemark.groups.add(params.user_id, body.groups),
});

const remove = route({
  method: 'DELETE',
  path: '/rc/v1/users/:user_id/groups/:group',
  operationId: 'groupsRemove',
  scope: 'admin',
  summary: 'Remove a user from a group',
  description: 'A group that the user is not a member of is no error.',
  params: Type.Object({ user_id: UserId, group: GroupId }),
  answer: UserGroups,
  audit: 'user.groups',
  handle: ({ context, params }) => context.tidemark.groups.remove(params.user_id, [params.group]),
});

const list = route({
  method: 'GET',
  path: '/rc/v1/groups',
  operationId: 'groupsList',
  scope: 'read',
  summary: 'The names of all groups that have members, sorted',
  refusals: ['invalid_name'],
  query: pageQuery('a group', 'north', {}),
  answer: names('Groups, sorted.', ['north', 'south']),
  handle: ({ context, query }) => context.tidemark.groups.list(pageOf(query)),
});

/** `GET /rc/v1/groups` answers names alone, and a path below it would be that of a group. */
const details = route({
  method: 'GET',
  path: '/rc/v1/group_details',
  operationId: 'groupsDetails',
  scope: 'read',
  summary: 'All groups that have members, sorted, with the number of their members',
  refusals: ['invalid_name', 'invalid_value'],
  query: pageQuery('a group', 'north', {}),
  answer: Type.Array(GroupDetails, { description: 'Groups, sorted by name.' }),
  handle: async ({ context, query }) => [...(await context.tidemark.groups.details(pageOf(query)))],
});

const members = route({
  method: 'GET',
  path: '/rc/v1/groups/:group/members',
  operationId: 'groupsMembers',
  scope: 'read',
  summary: 'The logins of the members of a group, sorted',
  params: GroupParams,
  query: pageQuery('a login', 'anna', {}),
  answer: names('Logins, sorted.', ['anna', 'bob']),
  handle: ({ context, params, query }) => context.tidemark.groups.members(params.group, pageOf(query)),
});

const setMembers = route({
  method: 'PUT',
  path: '/rc/v1/groups/:group/members',
  operationId: 'groupsSetMembers',
  scope: 'admin',
  summary: 'Make exactly these users the members of a group',
  description:
    'Each user is changed in one step, all of them are not: repeat the call if it fails. All users must exist, or nothing is changed.',
  refusals: ['user_not_found'],
  params: GroupParams,
  body: MembersBody,
  answer: GroupMembersReport,
  audit: 'group.members',
  handle: ({ context, params, body }) => context.tidemark.groups.setMembers(params.group, body.members),
});

export const groupRoutes = [
  get,
  set,
  add,
  remove,
  list,
  details,
  members,
  setMembers,
  docnamesRoute(owner),
  objectsRoute('documentsObjectsOfGroup', owner),
  ...documentRoutes(owner),
];
