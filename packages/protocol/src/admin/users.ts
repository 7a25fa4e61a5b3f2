import {
  attributes,
  closed,
  count,
  flag,
  moment,
  nullableCount,
  nullableMoment,
  nullableText,
  text,
  texts,
} from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';
import { listPage } from './list-page.ts';
import { Token } from './tokens.ts';

const UserIdentity = Type.Object(
  {
    issuer: text('The identity provider, by the claim `iss`.', 'https://id.example'),
    subject: text('The user there, by the claim `sub`.', '248289761001'),
  },
  { ...closed, title: 'UserIdentity', description: 'Who a user is at an identity provider.' },
);

export const User = Type.Object(
  {
    login: text('The login, which is the id of the user.', 'anna'),
    attributes: attributes('What was set about the user; never the password.', { email: 'anna@example.org' }),
    clients: count('How many devices the user has.', 2),
    identity: Type.Union([UserIdentity, Type.Null()], {
      description: 'Who the user is at an identity provider; null: none vouches for the user.',
      examples: [null],
    }),
    created_at: moment('When the user was created.'),
    updated_at: moment('When the user was last changed.'),
  },
  { ...closed, title: 'User', description: 'A user.' },
);
export type User = Static<typeof User>;

/** A user in a list of users with details. */
export const ListedUser = Type.Object(
  {
    login: text('The login, which is the id of the user.', 'anna'),
    admin: flag('Whether the user is an administrator.'),
    created_at: moment('When the user was created.'),
    last_seen: nullableMoment('The last contact of any device of the user; null: the user has none.'),
    devices: count('How many devices the user has.', 2),
    online: count('How many of them listen for events now.', 1),
    groups: texts('The groups that the user is a member of, sorted.', ['north', 'south']),
    behind: nullableCount(
      'Changes that the devices of the user have not acknowledged, all together; null: none of them has ever pulled.',
      0,
    ),
  },
  { ...closed, title: 'ListedUser', description: 'A user in a list of users.' },
);
export type ListedUser = Static<typeof ListedUser>;

/** A page of all users with details. */
export const UserList = listPage({
  title: 'UserList',
  noun: 'users',
  rows: { users: Type.Array(ListedUser, { description: 'Users, by login.' }) },
  next: 'anna',
});
export type UserList = Static<typeof UserList>;

export const Invite = Type.Object(
  {
    user_id: text('The login of the user.', 'anna'),
    code: text('The code that a device signs in with, once. It is shown only here.', 'tmi_4fS9…'),
    link: nullableText(
      'A link that ends in the code, for the app to open; null: the server has no `public_url`.',
      'https://sync.example/invite#tmi_4fS9…',
    ),
    expires_at: moment('When the code ends.'),
  },
  { ...closed, title: 'Invite', description: 'A code with which a device signs in once.' },
);
export type Invite = Static<typeof Invite>;

/** A user after a change. `tokens` lists named tokens that a new password of an administrator has not revoked. */
export const ChangedUser = Type.Object(
  {
    ...User.properties,
    kept_tokens: Type.Optional(
      Type.Array(Token, { description: 'Named tokens that a new password of an administrator has not revoked.' }),
    ),
  },
  { ...closed, title: 'ChangedUser', description: 'A user after a change.' },
);
export type ChangedUser = Static<typeof ChangedUser>;

/** The groups of a user. */
export const UserGroups = Type.Object(
  {
    user_id: text('The login of the user.', 'anna'),
    groups: texts('The groups that the user is a member of, sorted.', ['north', 'south']),
  },
  { ...closed, title: 'UserGroups', description: 'The groups of a user.' },
);
export type UserGroups = Static<typeof UserGroups>;

export const GroupDetails = Type.Object(
  { group: text('The group.', 'north'), members: count('How many members it has.', 12) },
  { ...closed, title: 'GroupDetails', description: 'A group with the number of its members.' },
);
export type GroupDetails = Static<typeof GroupDetails>;

/** The result of replacing the members of a group. */
export const GroupMembersReport = Type.Object(
  {
    group: text('The group.', 'north'),
    added: count('Users who have become members.', 2),
    removed: count('Users who are no members any more.', 0),
  },
  { ...closed, title: 'GroupMembersReport', description: 'What changed about the members of a group.' },
);
export type GroupMembersReport = Static<typeof GroupMembersReport>;
