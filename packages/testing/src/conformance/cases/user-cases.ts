import type { ConformanceCase } from '../conformance-case.ts';
import { ANY_TEXT, keep, listWith, listWithout, Matcher, MOMENT, TOKEN, wholeNumber } from '../matcher.ts';
import { del, each, get, json, path, post, put, refused, withoutToken } from '../requests.ts';
import { aSource, aUser, mdOf, PASSWORD, push, userView } from './fixtures.ts';

const USERS = '/rc/v1/users';

function user(login: string): string {
  return path`/rc/v1/users/${login}`;
}

const ATTRIBUTES = {
  email: 'anna@example',
  age: 7,
  ok: true,
  none: null,
  list: [1, { a: 'b' }],
  id: 'x',
  toString: 'y',
};

const INVITE_CODE = new Matcher('the code of an invite', (value) => /^tmi_\w{22}$/.test(String(value)));

const INVITE_LINK = new Matcher('a link that ends in the code of an invite, or null', (value) => {
  return value === null || /^https?:.*\/invite#tmi_\w{22}$/.test(String(value));
});

const listing: readonly ConformanceCase[] = [
  {
    rule: 'USER-40',
    title: 'users are listed with their devices and groups, searched, and paged',
    needs: ['devices'],
    steps: (name) => {
      const list = (query: string) => get(`/rc/v1/user_details?${query}`);
      const listed = (login: string, changes: Readonly<Record<string, unknown>> = {}) => ({
        ...{
          login,
          admin: false,
          created_at: MOMENT,
          last_seen: null,
          devices: 0,
          online: 0,
          groups: [],
          behind: null,
        },
        ...changes,
      });
      const found = (...users: readonly object[]) =>
        json({ users, total: wholeNumber(users.length), examined: wholeNumber(0), next: null });
      const group = name('north');
      const of = `group=${encodeURIComponent(group)}`;
      const [anna, bob] = [
        listed(name('anna'), { devices: 1, groups: [group], last_seen: MOMENT }),
        listed(name('bob'), { groups: [group] }),
      ];
      return [
        aUser(name('anna')),
        aUser(name('bob')),
        aUser(name('cleo')),
        [
          put(path`/rc/v1/groups/${group}/members`, { members: [name('anna'), name('bob')] }),
          json({ group, added: 2, removed: 0 }),
        ],
        { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
        [list(of), found(anna, bob)],
        [
          list(`${of}&limit=1`),
          json({ users: [anna], total: wholeNumber(3), examined: wholeNumber(1), next: name('anna') }),
        ],
        [list(`${of}&after=${encodeURIComponent(name('anna'))}`), found(bob)],
        [list(`${of}&text=BOB`), found(bob)],
        [list(`${of}&has_devices=true`), found(anna)],
        [list(`${of}&has_devices=false&created_days=1`), found(bob)],
        ...each(found(), list(`${of}&behind=true`), list(`${of}&not_seen_days=1`)),
        ...each(refused('invalid_value'), list('limit=0'), list(`text=${'x'.repeat(201)}`)),
        ...each(refused('invalid_request'), list('behind=1'), list('created_days=x'), list('x=1')),
      ];
    },
  },
];

const inviting: readonly ConformanceCase[] = [
  {
    rule: 'INVITE-1',
    title: 'a device signs in with the code of an invite',
    steps: (name) => {
      const invite = `${user(name('anna'))}/invite`;
      const answer = {
        user_id: name('anna'),
        code: keep('invite', INVITE_CODE),
        link: INVITE_LINK,
        expires_at: MOMENT,
      };
      return [
        aUser(name('anna')),
        [post(invite, { expires_in_s: 600 }), json(answer)],
        [
          withoutToken(post('/sync/v1/login', { invite: '{invite}' })),
          json({
            token: TOKEN,
            user_id: name('anna'),
            client_id: ANY_TEXT,
            expires_at: MOMENT,
            generation: wholeNumber(1),
          }),
        ],
        [post(invite, { keep_earlier: 'yes' }), refused('invalid_request', '/keep_earlier')],
        [post(invite, { expires_in_s: 1 }), refused('invalid_value', '/expires_in_s')],
        [post(`${user(name('nobody'))}/invite`, {}), refused('user_not_found')],
      ];
    },
  },
];

const making: readonly ConformanceCase[] = [
  {
    rule: 'REST-8',
    title: 'a user is created with free attributes and returned without the password',
    steps: (name) => [
      aUser(name('anna'), ATTRIBUTES),
      [get(user(name('anna'))), json(userView(name('anna'), ATTRIBUTES))],
      [get(USERS), json(listWith(name('anna')))],
    ],
  },
  {
    rule: 'REST-8',
    title: 'a login belongs to one user',
    steps: (name) => [
      aUser(name('anna'), { first: 1 }),
      [post(USERS, { attributes: { login: name('anna'), password: PASSWORD } }), refused('user_exists')],
      [get(user(name('anna'))), json(userView(name('anna'), { first: 1 }))],
    ],
  },
  {
    rule: 'REST-8',
    title: 'a user needs a login and a password',
    steps: (name) => [
      [post(USERS, {}), refused('invalid_request', '/attributes')],
      [post(USERS, { attributes: [] }), refused('invalid_request', '/attributes')],
      [post(USERS, { attributes: { password: PASSWORD } }), refused('invalid_request', '/attributes/login')],
      [post(USERS, { attributes: { login: 7, password: PASSWORD } }), refused('invalid_request', '/attributes/login')],
      [post(USERS, { attributes: { login: name('u') } }), refused('invalid_request', '/attributes/password')],
      [
        post(USERS, { attributes: { login: name('u'), password: 7 } }),
        refused('invalid_request', '/attributes/password'),
      ],
      [
        post(USERS, { attributes: { login: name('u'), password: '' } }),
        refused('invalid_value', '/attributes/password'),
      ],
      [post(USERS, { attributes: { login: '', password: PASSWORD } }), refused('invalid_name', '/attributes/login')],
      [
        post(USERS, { attributes: { login: name('u'), password: PASSWORD }, admin: true }),
        refused('invalid_request', '/admin'),
      ],
      [get(user(name('u'))), refused('user_not_found')],
    ],
  },
  {
    rule: 'REST-8',
    title: 'users are listed in order, page by page',
    steps: (name) => [
      ...['a', 'b', 'c'].map((login) => aUser(name(login))),
      [get(`${USERS}?${path`after=${name('a')}`}&limit=1`), json([name('b')])],
      [get(`${USERS}?${path`after=${name('a')}`}&limit=2`), json([name('b'), name('c')])],
      [get(`${USERS}?${path`after=${name('c')}`}&limit=10000`), json(listWithout(name('a'), name('b'), name('c')))],
      [get(USERS), json(new Matcher('sorted', (list) => String(list) === String([...(list as string[])].sort())))],
      ...each(refused('invalid_value', '/limit'), get(`${USERS}?limit=0`), get(`${USERS}?limit=10001`)),
      ...each(
        refused('invalid_request'),
        get(`${USERS}?limit=x`),
        get(`${USERS}?limit=-1`),
        get(`${USERS}?limit=1.5`),
        get(`${USERS}?limit=`),
        get(`${USERS}?page=2`),
      ),
    ],
  },
];

const changing: readonly ConformanceCase[] = [
  {
    rule: 'REST-8',
    title: 'an update merges attributes and returns the user',
    steps: (name) => [
      aUser(name('anna'), { a: 1, b: 1 }),
      [
        put(user(name('anna')), { attributes: { b: null, c: { d: 2 } } }),
        json(userView(name('anna'), { a: 1, b: null, c: { d: 2 } })),
      ],
      [put(user(name('anna')), { attributes: {} }), json(userView(name('anna'), { a: 1, b: null, c: { d: 2 } }))],
      [
        put(user(name('anna')), { attributes: { login: name('anna'), a: 2 } }),
        json(userView(name('anna'), { a: 2, b: null, c: { d: 2 } })),
      ],
      [get(user(name('anna'))), json(userView(name('anna'), { a: 2, b: null, c: { d: 2 } }))],
    ],
  },
  {
    rule: 'REST-8',
    title: 'a refused update changes nothing',
    steps: (name) => [
      aUser(name('anna'), { a: 1 }),
      [
        put(user(name('anna')), { attributes: { a: 2, login: name('other') } }),
        refused('immutable_attribute', '/attributes/login'),
      ],
      [
        put(user(name('anna')), { attributes: { a: 2, roles: ['admin'] } }),
        refused('reserved_attribute', '/attributes/roles'),
      ],
      [
        put(user(name('anna')), { attributes: { a: 2, password: '' } }),
        refused('invalid_value', '/attributes/password'),
      ],
      [put(user(name('anna')), { attributes: 'x' }), refused('invalid_request', '/attributes')],
      [put(user(name('anna')), {}), refused('invalid_request', '/attributes')],
      [put(user(name('nobody')), { attributes: {} }), refused('user_not_found')],
      [get(user(name('anna'))), json(userView(name('anna'), { a: 1 }))],
    ],
  },
  {
    rule: 'REST-8',
    title: 'after a change of the password only the new one is accepted',
    steps: (name) => [
      aUser(name('anna')),
      [put(user(name('anna')), { attributes: { password: 'another password' } }), json(userView(name('anna')))],
      [
        withoutToken(post('/rc/v1/system/login', { login: name('anna'), password: 'another password' })),
        refused('forbidden'),
      ],
    ],
  },
  {
    rule: 'REST-8',
    title: 'deleting a user deletes the data, and a user of the same login begins empty',
    steps: (name) => [
      aUser(name('anna'), { a: 1 }),
      aSource(name('Order')),
      [
        post(push(name('Order'), 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
        json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
      ],
      [del(user(name('anna'))), json({ deleted: name('anna') })],
      ...each(
        refused('user_not_found'),
        get(user(name('anna'))),
        del(user(name('anna'))),
        get(mdOf(name('anna'), name('Order'))),
        get(`${user(name('anna'))}/clients`),
      ),
      [get(USERS), json(listWithout(name('anna')))],
      aUser(name('anna')),
      [get(mdOf(name('anna'), name('Order'))), json({})],
    ],
  },
  {
    rule: 'REST-8',
    title: 'an administrator cannot delete itself',
    steps: () => [
      [del('/rc/v1/users/{login}'), refused('last_admin')],
      [get('/rc/v1/system/license'), json(new Matcher('the licence', (value) => typeof value === 'object'))],
    ],
  },
];

export const userCases = [...making, ...listing, ...inviting, ...changing];
