import type { ConformanceCase, Exchange, Naming } from '../conformance-case.ts';
import { listWith, listWithout } from '../matcher.ts';
import { del, each, get, json, path, post, put, refused, text } from '../requests.ts';
import { byDevice, kept, page, pull, pulled, signsIn } from './device-requests.ts';
import { aSource, aUser, push } from './fixtures.ts';

const GROUPS = '/rc/v1/groups';

function groupsOf(user: string): string {
  return path`/rc/v1/users/${user}/groups`;
}

function members(group: string): string {
  return path`/rc/v1/groups/${group}/members`;
}

function docs(group: string, source: string): string {
  return path`/rc/v1/groups/${group}/sources/${source}`;
}

function sets(user: string, groups: readonly string[]): Exchange {
  return [put(groupsOf(user), { groups }), json({ user_id: user, groups: [...groups].sort() })];
}

function report(source: string, group: string, seq: number) {
  return json({ source, user_id: null, group, changed: 1, unchanged: 0, seq });
}

const LISTED = { id: '1', seq: 1, created_seq: 1, changed: {}, attributes: { a: 1 } };

/** The user `anna` and the source of groups `Visit`. */
function fixtures(name: Naming): readonly Exchange[] {
  return [aUser(name('anna')), aSource(name('Visit'), { partition_type: 'group' })];
}

const memberships: readonly ConformanceCase[] = [
  {
    rule: 'GROUP-10',
    title: 'the groups of a user are set, added, removed and listed',
    steps: (name) => {
      const [anna, north, south] = [name('anna'), name('north'), name('south')];
      return [
        aUser(anna),
        [get(groupsOf(anna)), json({ user_id: anna, groups: [] })],
        sets(anna, [south, north]),
        [
          post(groupsOf(anna), { groups: [name('west')] }),
          json({ user_id: anna, groups: [north, south, name('west')] }),
        ],
        [del(`${groupsOf(anna)}${path`/${south}`}`), json({ user_id: anna, groups: [north, name('west')] })],
        [del(`${groupsOf(anna)}${path`/${south}`}`), json({ user_id: anna, groups: [north, name('west')] })],
        [get(GROUPS), json(listWith(north))],
        [get(GROUPS), json(listWithout(south))],
        [get(members(north)), json([anna])],
        [get(members(south)), json([])],
      ];
    },
  },
  {
    rule: 'GROUP-10',
    title: 'the members of a group are replaced in one call',
    steps: (name) => {
      const [anna, bob, north] = [name('anna'), name('bob'), name('north')];
      return [
        aUser(anna),
        aUser(bob),
        sets(anna, [north]),
        [put(members(north), { members: [bob] }), json({ group: north, added: 1, removed: 1 })],
        [put(members(north), { members: [bob] }), json({ group: north, added: 0, removed: 0 })],
        [get(members(north)), json([bob])],
        [get('/rc/v1/group_details?limit=1000'), json(listWith({ group: north, members: 1 }))],
        [get('/rc/v1/group_details?limit=1001'), refused('invalid_value')],
        [put(members(north), { members: [anna, name('nobody')] }), refused('user_not_found')],
        [get(members(north)), json([bob])],
      ];
    },
  },
  {
    rule: 'GROUP-9',
    title: 'groups and members that are not allowed are refused and change nothing',
    steps: (name) => [
      aUser(name('anna')),
      [get(groupsOf(name('nobody'))), refused('user_not_found')],
      [put(groupsOf(name('nobody')), { groups: [] }), refused('user_not_found')],
      [put(groupsOf(name('anna')), { groups: 'north' }), refused('invalid_request', '/groups')],
      [put(groupsOf(name('anna')), { groups: ['north', 7] }), refused('invalid_request', '/groups/1')],
      [post(groupsOf(name('anna')), { groups: ['*'] }), refused('invalid_name', '/groups/0')],
      [put(members('*'), { members: [] }), refused('invalid_name', '/group')],
      [put(members('north'), { members: {} }), refused('invalid_request', '/members')],
      [
        put(groupsOf(name('anna')), { groups: Array.from({ length: 1_001 }, (_, index) => `g${index}`) }),
        refused('limit_exceeded', '/groups'),
      ],
      [get(groupsOf(name('anna'))), json({ user_id: name('anna'), groups: [] })],
    ],
  },
];

const data: readonly ConformanceCase[] = [
  {
    rule: 'GROUP-2',
    title: 'a push into a source of groups names a group, and a push into another source does not',
    steps: (name) => [
      ...fixtures(name),
      aSource(name('Order')),
      ...each(
        refused('group_required', '/group'),
        post(push(name('Visit'), 'push_objects'), { objects: {} }),
        post(push(name('Visit'), 'push_deletes'), { user_id: name('anna'), objects: [] }),
      ),
      [
        post(push(name('Order'), 'push_objects'), { user_id: name('anna'), group: 'north', objects: {} }),
        refused('invalid_request', '/group'),
      ],
      [post(push(name('Visit'), 'push_objects'), { group: '*', objects: {} }), refused('invalid_name', '/group')],
    ],
  },
  {
    rule: 'GROUP-13',
    title: 'documents of a group are read and written like those of a user',
    steps: (name) => {
      const where = docs('north', name('Visit'));
      return [
        ...fixtures(name),
        [get(`${where}/docnames`), json(['md'])],
        [post(`${where}/docs/md`, { data: { 1: { a: 1 } } }), json({ doc: 'md', type: 'objects', size: 1 })],
        [post(`${where}/docs/notes`, { data: 'hello' }), json({ doc: 'notes', type: 'text', size: 5 })],
        [get(`${where}/docs/md`), json({ 1: { a: 1 } })],
        [get(`${where}/objects?limit=1`), json({ size: 1, head: 1, objects: [LISTED], next: null })],
        [
          get(`${where}/objects?sort=@id`),
          json({ size: 1, head: 1, objects: [LISTED], next: null, matches: 1, read: 1 }),
        ],
        [get(`${docs('south', name('Visit'))}/objects`), json({ size: 0, head: 0, objects: [], next: null })],
        [get(`${docs('north', name('Nope'))}/objects`), refused('source_not_found')],
        [get(`${where}/docs/notes`), text('hello')],
        [get(`${docs('south', name('Visit'))}/docs/notes`), refused('doc_not_found')],
        [get(`${docs('north', name('Nope'))}/docnames`), refused('source_not_found')],
      ];
    },
  },
  {
    rule: 'GROUP-3',
    title: 'a device gets the groups of its user, and hears which are gone',
    steps: (name) => {
      const [anna, visit] = [name('anna'), name('Visit')];
      return [
        ...fixtures(name),
        sets(anna, ['north', 'south']),
        [post(push(visit, 'push_objects'), { group: 'north', objects: { n: { a: 1 } } }), report(visit, 'north', 1)],
        [post(push(visit, 'push_objects'), { group: 'south', objects: { s: { a: 1 } } }), report(visit, 'south', 1)],
        signsIn(anna),
        [
          pull({ [visit]: { groups: {} } }),
          pulled({
            [visit]: {
              groups: {
                north: page('north', { reset: true, put: { n: { a: 1 } }, size: 1 }),
                south: page('south', { reset: true, put: { s: { a: 1 } }, size: 1 }),
              },
              more: false,
            },
          }),
        ],
        [
          byDevice(
            post('/sync/v1/ack', {
              client_id: '{client}',
              sources: { [visit]: { groups: { north: kept('north'), south: kept('south') } } },
            }),
          ),
          json({ acknowledged: [visit] }),
        ],
        sets(anna, ['north']),
        [
          pull({ [visit]: { groups: { north: { token: kept('north') }, south: { token: kept('south') } } } }),
          pulled({ [visit]: { groups: {}, gone: ['south'], more: false } }),
        ],
        [pull({ [visit]: {} }), pulled({ [visit]: { error: { code: 'group_required', detail: needsTokens(visit) } } })],
      ];
    },
  },
  {
    rule: 'GROUP-16',
    title: 'a move takes objects from one group to another',
    steps: (name) => {
      const visit = name('Visit');
      const move = (body: object) => post(push(visit, 'move'), body);
      return [
        ...fixtures(name),
        [post(push(visit, 'push_objects'), { group: 'north', objects: { n: { a: 1 } } }), report(visit, 'north', 1)],
        [
          move({ from: 'north', to: 'south', objects: ['n', 'x'] }),
          json({ source: visit, from: 'north', to: 'south', moved: 1, missing: 1, from_seq: 2, to_seq: 1 }),
        ],
        [get(`${docs('north', visit)}/docs/md`), json({})],
        [get(`${docs('south', visit)}/docs/md`), json({ n: { a: 1 } })],
        [move({ from: 'north', to: 'north', objects: [] }), refused('invalid_value', '/to')],
        [move({ from: 'north', to: '*', objects: [] }), refused('invalid_name', '/to')],
        [move({ from: 'north', to: 'south', objects: {} }), refused('invalid_request', '/objects')],
      ];
    },
  },
];

function needsTokens(source: string): string {
  return `the data of ${JSON.stringify(source)} belongs to groups: send a token for each`;
}

export const groupCases = [...memberships, ...data];
