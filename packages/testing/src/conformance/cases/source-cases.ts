import type { ConformanceCase, Exchange, Sent } from '../conformance-case.ts';
import { listWith, listWithout, MOMENT } from '../matcher.ts';
import { del, each, get, json, path, post, put, refused } from '../requests.ts';
import { aSource, aUser, mdOf, push, sourceView } from './fixtures.ts';

const SOURCES = '/rc/v1/sources';

function source(name: string): string {
  return path`/rc/v1/sources/${name}`;
}

const declaring: readonly ConformanceCase[] = [
  {
    rule: 'REST-12',
    title: 'a source needs only a name, and is returned with every attribute',
    steps: (name) => [
      aSource(name('Order')),
      [get(source(name('Order'))), json(sourceView(name('Order')))],
      [get(SOURCES), json(listWith(sourceView(name('Order'))))],
      [
        post(SOURCES, { name: name('Polled'), adapter: 'backend' }),
        json(sourceView(name('Polled'), { adapter: 'backend', poll_interval: 300 })),
      ],
    ],
  },
  {
    rule: 'REST-12',
    title: 'a source accepts every attribute of the specification',
    steps: (name) => {
      const all = {
        poll_interval: 0,
        partition_type: 'app',
        sync_type: 'bulk_only',
        queue: 'q',
        query_queue: 'qq',
        cud_queue: 'cq',
        adapter: 'backend',
        conflicts: 'detect',
        read_only: true,
        references: { customer_id: 'Customer' },
        push_notify: true,
      };
      return [aSource(name('Product'), all), [get(source(name('Product'))), json(sourceView(name('Product'), all))]];
    },
  },
  {
    rule: 'REST-12',
    title: 'a wrong declaration of a source is refused and declares nothing',
    steps: (name) => [
      aSource(name('Order')),
      [post(SOURCES, { name: name('Order') }), refused('source_exists')],
      [post(SOURCES, {}), refused('invalid_request', '/name')],
      [post(SOURCES, []), refused('invalid_request', '')],
      [post(SOURCES, { name: '*' }), refused('invalid_name', '/name')],
      [post(SOURCES, { name: name('x'), poll_interval: -2 }), refused('invalid_value', '/poll_interval')],
      [post(SOURCES, { name: name('x'), partition_type: 'all' }), refused('invalid_value', '/partition_type')],
      [post(SOURCES, { name: name('x'), sync_type: 'all' }), refused('invalid_value', '/sync_type')],
      [post(SOURCES, { name: name('x'), queue: 7 }), refused('invalid_value', '/queue')],
      [post(SOURCES, { name: name('x'), colour: 'red' }), refused('invalid_request', '/colour')],
      [get(source(name('x'))), refused('source_not_found')],
    ],
  },
  {
    rule: 'REST-12',
    title: 'a shared source reports how many objects it has; a user source does not',
    steps: (name) => {
      const counted = (objects: number | null, more: Readonly<Record<string, unknown>> = {}) =>
        json(sourceView(name('Product'), { partition_type: 'app', counts: { objects }, ...more }));
      return [
        aSource(name('Product'), { partition_type: 'app' }),
        [
          post(push(name('Product'), 'push_objects'), { objects: { 1: { a: 1 }, 2: { a: 1 } } }),
          json({ source: name('Product'), user_id: null, changed: 2, unchanged: 0, seq: 2 }),
        ],
        [get(source(name('Product'))), counted(2)],
        [
          post(push(name('Product'), 'push_deletes'), { objects: ['1'] }),
          json({ source: name('Product'), user_id: null, changed: 1, unchanged: 0, seq: 3 }),
        ],
        [put(source(name('Product')), { data: { queue: 'q' } }), counted(1, { queue: 'q' })],
        aSource(name('Order')),
        aUser(name('anna')),
        [
          post(push(name('Order'), 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
          json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
        ],
        [get(source(name('Order'))), json(sourceView(name('Order')))],
      ];
    },
  },
  {
    rule: 'REST-12',
    title: 'sources are listed by partition type',
    steps: (name) => [
      aSource(name('Order')),
      aSource(name('Product'), { partition_type: 'app' }),
      [get(`${SOURCES}/type/user`), json(listWith(name('Order')))],
      [get(`${SOURCES}/type/user`), json(listWithout(name('Product')))],
      [get(`${SOURCES}/type/app`), json(listWith(name('Product')))],
      [get(`${SOURCES}/type/app`), json(listWithout(name('Order')))],
      ...each(
        refused('invalid_value', '/partition_type'),
        get(`${SOURCES}/type/foo`),
        get(`${SOURCES}/type/APP`),
        get(`${SOURCES}/type/__proto__`),
      ),
    ],
  },
];

const changing: readonly ConformanceCase[] = [
  {
    rule: 'REST-12',
    title: 'the mutable attributes of a source can be changed, and user_name is kept',
    steps: (name) => {
      const changes = { poll_interval: 60, sync_type: 'bulk_only', queue: 'q', query_queue: 'qq', cud_queue: 'cq' };
      const changed = sourceView(name('Order'), { ...changes, updated_by: 'anna' });
      return [
        aSource(name('Order')),
        [put(source(name('Order')), { data: changes, user_name: 'anna' }), json(changed)],
        [get(source(name('Order'))), json(changed)],
        [put(source(name('Order')), { data: { queue: null } }), json({ ...changed, queue: null })],
        [
          put(source(name('Order')), { data: { poll_interval: -1 } }),
          json({ ...changed, queue: null, poll_interval: -1 }),
        ],
        [
          put(source(name('Order')), { data: { poll_interval: 0 } }),
          json({ ...changed, queue: null, poll_interval: 0 }),
        ],
      ];
    },
  },
  {
    rule: 'REST-12',
    title: 'a refused update of a source changes nothing',
    steps: (name) => [
      aSource(name('Order')),
      ...each(
        refused('invalid_value', '/data/poll_interval'),
        ...[-2, 1.5, '60', null, 2 ** 53].map((poll_interval) =>
          put(source(name('Order')), { data: { poll_interval } }),
        ),
      ),
      [
        put(path`/rc/v1/sources/${name('Order')}`, { data: { adapter: 'bakend' } }),
        refused('invalid_value', '/data/adapter'),
      ],
      ...['name', 'partition_type'].map(
        (field): Exchange => [
          put(source(name('Order')), { data: { poll_interval: 5, [field]: 'app' } }),
          refused('immutable_attribute', `/data/${field}`),
        ],
      ),
      [
        put(source(name('Order')), { data: { poll_interval: 5, colour: 'red' } }),
        refused('invalid_request', '/data/colour'),
      ],
      [
        put(source(name('Order')), { data: { poll_interval: 5 }, user_name: 7 }),
        refused('invalid_request', '/user_name'),
      ],
      [put(source(name('Order')), { poll_interval: 5 }), refused('invalid_request')],
      [put(source(name('None')), { data: { poll_interval: 5 } }), refused('source_not_found')],
      [get(source(name('Order'))), json(sourceView(name('Order')))],
    ],
  },
  {
    rule: 'REST-12',
    title: 'deleting a source deletes its data, and a source of the same name begins empty',
    steps: (name) => [
      aSource(name('Order')),
      aUser(name('anna')),
      [
        post(push(name('Order'), 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
        json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
      ],
      [del(source(name('Order'))), json({ deleted: name('Order') })],
      ...each(
        refused('source_not_found'),
        get(source(name('Order'))),
        del(source(name('Order'))),
        get(mdOf(name('anna'), name('Order'))),
      ),
      [get(SOURCES), json(listWithout(sourceView(name('Order'))))],
      aSource(name('Order')),
      [get(mdOf(name('anna'), name('Order'))), json({})],
    ],
  },
];

function readStates(user: string, name: string): readonly string[] {
  return ['read_state', 'readstate'].map((word) => `/rc/v1/${word}${path`/users/${user}/sources/${name}`}`);
}

const readState: readonly ConformanceCase[] = [
  {
    rule: 'REST-11',
    title: 'read_state and readstate, by POST and by PUT, answer when the source is due',
    steps: (name) => {
      const sends = readStates(name('anna'), name('Order')).flatMap((to): Sent[] => [
        post(to, { refresh_time: 10 }),
        put(to, { refresh_time: 0 }),
        post(to, {}),
        put(to, { refresh_time: null }),
      ]);
      return [aUser(name('anna')), aSource(name('Order')), ...each(json({ refresh_at: MOMENT }), ...sends)];
    },
  },
  {
    rule: 'REST-11',
    title: 'a refresh time is a whole number of seconds, for a user and a source that exist',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      ...readStates(name('anna'), name('Order')).flatMap((to) => [
        ...each(
          refused('invalid_request', '/refresh_time'),
          ...['10', true, [], {}].map((refresh_time) => post(to, { refresh_time })),
        ),
        ...each(
          refused('invalid_value', '/refresh_time'),
          ...[-1, 1.5, 1e12].map((refresh_time) => put(to, { refresh_time })),
        ),
        ...each(refused('invalid_request', '/refresh'), post(to, { refresh: 1 })),
      ]),
      ...each(refused('user_not_found'), ...readStates(name('nobody'), name('Order')).map((to) => post(to, {}))),
      ...each(refused('source_not_found'), ...readStates(name('anna'), name('None')).map((to) => put(to, {}))),
    ],
  },
];

export const sourceCases = [...declaring, ...changing, ...readState];
