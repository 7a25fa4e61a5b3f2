import type { ConformanceCase, Exchange, Expected, Naming, Sent } from '../conformance-case.ts';
import { each, get, json, post, refused } from '../requests.ts';
import { aSource, aUser, mdOf, push } from './fixtures.ts';

type Body = Readonly<Record<string, unknown>>;

const OPERATIONS = ['push_objects', 'push_deletes', 'fast_insert', 'fast_update', 'fast_delete'] as const;
type Operation = (typeof OPERATIONS)[number];

/** Pushes to the source `Order` of the user `anna`, and what they are answered. */
class PushTarget {
  readonly source: string;
  readonly user: string;

  constructor(name: Naming) {
    this.source = name('Order');
    this.user = name('anna');
  }

  get fixtures(): readonly Exchange[] {
    return [aSource(this.source), aUser(this.user)];
  }

  send(operation: Operation, body: Body): Sent {
    return post(push(this.source, operation), { user_id: this.user, ...body });
  }

  report(changed: number, unchanged: number, seq: number): Expected {
    return json({ source: this.source, user_id: this.user, changed, unchanged, seq });
  }

  holds(objects: Body): Exchange {
    return [get(mdOf(this.user, this.source)), json(objects)];
  }
}

function pushCase(
  rule: string,
  title: string,
  steps: (target: PushTarget, name: Naming) => readonly Exchange[],
): ConformanceCase {
  return {
    rule,
    title,
    steps: (name) => {
      const target = new PushTarget(name);
      return [...target.fixtures, ...steps(target, name)];
    },
  };
}

const VALUES = {
  text: 'häl"lo\n',
  number: -1.5,
  whole: 9007199254740991,
  yes: true,
  no: false,
  none: null,
  list: [1, [2]],
  hash: { constructor: 1, id: 2 },
};

const pushing: readonly ConformanceCase[] = [
  pushCase('REST-14', 'push_objects creates and merges; what changes nothing moves nothing', (target) => [
    [target.send('push_objects', { objects: { 1: { a: 1, b: 1 }, 2: { a: 2 } } }), target.report(2, 0, 2)],
    [target.send('push_objects', { objects: { 1: { b: 2, c: 3 }, 2: { a: 2 } } }), target.report(1, 1, 3)],
    [target.send('push_objects', { objects: { 1: { c: 3 }, 2: { a: 2 } } }), target.report(0, 2, 3)],
    [target.send('push_objects', { objects: {} }), target.report(0, 0, 3)],
    target.holds({ 1: { a: 1, b: 2, c: 3 }, 2: { a: 2 } }),
  ]),
  pushCase('REST-14', 'values come back with their exact JSON type', (target) => [
    [target.send('push_objects', { objects: { constructor: VALUES } }), target.report(1, 0, 1)],
    target.holds({ constructor: VALUES }),
  ]),
  pushCase('REST-14', 'rebuild_md true, false and absent give the same document', (target) => [
    [target.send('push_objects', { objects: { 1: { a: 1 } }, rebuild_md: true }), target.report(1, 0, 1)],
    [target.send('push_objects', { objects: { 1: { b: 1 } }, rebuild_md: false }), target.report(1, 0, 2)],
    [target.send('push_objects', { objects: { 2: { a: 1 } } }), target.report(1, 0, 3)],
    target.holds({ 1: { a: 1, b: 1 }, 2: { a: 1 } }),
    [target.send('push_deletes', { objects: ['1'], rebuild_md: false }), target.report(1, 0, 4)],
    target.holds({ 2: { a: 1 } }),
    [target.send('push_deletes', { objects: ['2'], rebuild_md: true }), target.report(1, 0, 5)],
    target.holds({}),
    ...each(
      refused('invalid_request', '/rebuild_md'),
      target.send('push_objects', { objects: {}, rebuild_md: 'no' }),
      target.send('push_deletes', { objects: [], rebuild_md: 0 }),
    ),
  ]),
  pushCase('REST-14', 'push_deletes deletes; an absent id is no error', (target) => [
    [target.send('push_objects', { objects: { 1: { a: 1 }, 2: { a: 2 } } }), target.report(2, 0, 2)],
    [target.send('push_deletes', { objects: ['1', 'absent'] }), target.report(1, 1, 3)],
    [target.send('push_deletes', { objects: [] }), target.report(0, 0, 3)],
    target.holds({ 2: { a: 2 } }),
  ]),
];

const both: readonly ConformanceCase[] = [
  pushCase('PG-61', 'push_objects with deletes does both in one commit; an id in both is refused', (target) => [
    [target.send('push_objects', { objects: { 1: { a: 1 }, 2: { a: 2 } } }), target.report(2, 0, 2)],
    [target.send('push_objects', { objects: { 2: { b: 2 } }, deletes: ['1', 'absent'] }), target.report(2, 1, 4)],
    target.holds({ 2: { a: 2, b: 2 } }),
    [target.send('push_objects', { objects: { 2: { a: 3 } }, deletes: ['2'] }), refused('invalid_value', '/deletes')],
    [target.send('push_objects', { objects: {}, deletes: {} }), refused('invalid_request', '/deletes')],
    target.holds({ 2: { a: 2, b: 2 } }),
  ]),
  pushCase('PG-62', 'push_objects with whole removes the attributes that are not given', (target) => [
    [target.send('push_objects', { objects: { 1: { a: 1, b: 1 }, 2: { a: 2 } } }), target.report(2, 0, 2)],
    [target.send('push_objects', { objects: { 1: { a: 1 }, 2: { a: 2 } }, whole: true }), target.report(1, 1, 3)],
    target.holds({ 1: { a: 1 }, 2: { a: 2 } }),
    [target.send('push_objects', { objects: {}, whole: 1 }), refused('invalid_request', '/whole')],
  ]),
];

const several: readonly ConformanceCase[] = [
  pushCase('PG-347', 'push_partitions writes each user, and refuses a wrong one alone', (target) => {
    const { source, user } = target;
    const send = (...partitions: readonly Body[]) => post(push(source, 'push_partitions'), { partitions });
    const detail = `the login name must be a string`;
    const refusal = { changed: 0, unchanged: 0, seq: null, code: 'invalid_request', detail };
    return [
      [
        send({ user_id: user, objects: { 1: { a: 1 }, 2: { a: 2 } } }, { objects: {} }),
        json({ source, changed: 2, unchanged: 0, partitions: [{ changed: 2, unchanged: 0, seq: 2 }, refusal] }),
      ],
      target.holds({ 1: { a: 1 }, 2: { a: 2 } }),
      [send({ user_id: user, objects: {} }, { user_id: user, objects: {} }), refused('invalid_value', '/partitions/1')],
    ];
  }),
];

const fast: readonly ConformanceCase[] = [
  pushCase('REST-15', 'fast_insert replaces the object wholesale', (target) => [
    [target.send('fast_insert', { objects: { 1: { a: 1, b: 2 } } }), target.report(1, 0, 1)],
    [target.send('fast_insert', { objects: { 1: { c: 3 } } }), target.report(1, 0, 2)],
    target.holds({ 1: { c: 3 } }),
  ]),
  pushCase('REST-15', 'fast_update removes what still is as told, then sets the new data', (target) => [
    [target.send('fast_insert', { objects: { 1: { a: 1, b: 2 }, 2: { a: 1 } } }), target.report(2, 0, 2)],
    [
      target.send('fast_update', { delete_data: { 1: { a: 1, b: 'other' } }, data: { 1: { c: 3 }, 3: { d: 4 } } }),
      target.report(2, 0, 4),
    ],
    target.holds({ 1: { b: 2, c: 3 }, 2: { a: 1 }, 3: { d: 4 } }),
    [target.send('fast_update', { delete_data: {}, data: { 2: { b: 2 } } }), target.report(1, 0, 5)],
    [target.send('fast_update', { delete_data: { 2: { b: 2 } }, data: {} }), target.report(1, 0, 6)],
    target.holds({ 1: { b: 2, c: 3 }, 2: { a: 1 }, 3: { d: 4 } }),
  ]),
  pushCase('REST-15', 'fast_delete removes what still is as told; an object without attributes is gone', (target) => [
    [target.send('fast_insert', { objects: { 1: { a: 1, b: 2 }, 2: { a: 1 } } }), target.report(2, 0, 2)],
    [
      target.send('fast_delete', { data: { 1: { b: 2, a: 'other' }, 2: { a: 1 }, 3: { a: 1 } } }),
      target.report(2, 1, 4),
    ],
    target.holds({ 1: { a: 1 } }),
  ]),
];

/** A valid body of each operation, which cases make invalid. */
const GOOD: Readonly<Record<Operation, Body>> = {
  push_objects: { objects: { 1: { a: 1 } } },
  push_deletes: { objects: ['1'] },
  fast_insert: { objects: { 1: { a: 1 } } },
  fast_update: { delete_data: { 1: { a: 1 } }, data: { 1: { a: 2 } } },
  fast_delete: { data: { 1: { a: 1 } } },
};

const FIELDS: Readonly<Record<Operation, readonly string[]>> = {
  push_objects: ['objects'],
  push_deletes: ['objects'],
  fast_insert: ['objects'],
  fast_update: ['delete_data', 'data'],
  fast_delete: ['data'],
};

const targets: readonly ConformanceCase[] = [
  {
    rule: 'REST-16',
    title: 'every push needs a source and a user that exist',
    steps: (name) => [
      aSource(name('Order')),
      aUser(name('anna')),
      ...OPERATIONS.flatMap((operation): readonly Exchange[] => {
        const body = GOOD[operation];
        const to = push(name('Order'), operation);
        return [
          [post(push(name('None'), operation), { user_id: name('anna'), ...body }), refused('source_not_found')],
          [post(to, { user_id: name('nobody'), ...body }), refused('user_not_found')],
          ...each(
            refused('invalid_request', '/user_id'),
            post(to, body),
            post(to, { user_id: 7, ...body }),
            post(to, { user_id: [name('anna')], ...body }),
          ),
          [post(to, { user_id: '*', ...body }), refused('invalid_name', '/user_id')],
        ];
      }),
    ],
  },
  {
    rule: 'REST-16',
    title: 'the data of an app source is shared, and its user id optional',
    steps: (name) => [
      aSource(name('Product'), { partition_type: 'app' }),
      [
        post(push(name('Product'), 'push_objects'), { objects: { 1: { a: 1 } } }),
        json({ source: name('Product'), user_id: null, changed: 1, unchanged: 0, seq: 1 }),
      ],
      [
        post(push(name('Product'), 'push_objects'), { user_id: name('whoever'), objects: { 2: { a: 1 } } }),
        json({ source: name('Product'), user_id: null, changed: 1, unchanged: 0, seq: 2 }),
      ],
      [
        post(push(name('Product'), 'push_deletes'), { user_id: null, objects: ['1'] }),
        json({ source: name('Product'), user_id: null, changed: 1, unchanged: 0, seq: 3 }),
      ],
      [get(mdOf('*', name('Product'))), json({ 2: { a: 1 } })],
    ],
  },
  pushCase('REST-16', 'objects of another form are refused where they stand', (target) => [
    ...OPERATIONS.flatMap((operation) =>
      FIELDS[operation].flatMap((field) => {
        const isList = operation === 'push_deletes';
        const bad = [null, 'x', 7, true, isList ? { 1: { a: 1 } } : ['1']];
        const spoilt = bad.map((value) => target.send(operation, { ...GOOD[operation], [field]: value }));
        const { [field]: _left, ...without } = GOOD[operation];
        return each(refused('invalid_request', `/${field}`), ...spoilt, target.send(operation, without));
      }),
    ),
    [target.send('push_deletes', { objects: ['1', 7] }), refused('invalid_request', '/objects/1')],
    [target.send('push_objects', { objects: { 1: { a: 1 }, 2: 'x' } }), refused('invalid_request', '/objects/2')],
    [target.send('push_objects', { ...GOOD.push_objects, colour: 'red' }), refused('invalid_request', '/colour')],
    target.holds({}),
  ]),
  pushCase('REST-16', 'one bad object among many refuses the call, and nothing changes', (target) => {
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, index) => [`id ${index}`, { a: index }]));
    return [
      [target.send('push_objects', { objects: { kept: { a: 1 } } }), target.report(1, 0, 1)],
      [
        target.send('push_objects', { objects: { ...many, bad: { a: 2 ** 53 } } }),
        refused('unsafe_number', '/objects/bad/a'),
      ],
      [target.send('push_deletes', { objects: ['kept', ''] }), refused('invalid_name', '/objects/1')],
      [
        target.send('fast_update', { delete_data: { kept: { a: 1 } }, data: { bad: { '': 1 } } }),
        refused('invalid_name', '/data/bad/'),
      ],
      target.holds({ kept: { a: 1 } }),
    ];
  }),
  pushCase('REST-16', 'an api_token in the body is tolerated and never used', (target) => [
    [target.send('push_objects', { objects: { 1: { a: 1 } }, api_token: 'whatever' }), target.report(1, 0, 1)],
    [
      { ...target.send('push_objects', { objects: {}, api_token: '{admin_token}' }), token: 'none' },
      refused('token_missing'),
    ],
  ]),
];

export const pushCases = [...pushing, ...both, ...several, ...fast, ...targets];
