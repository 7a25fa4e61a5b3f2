import type { ConformanceCase, Sent } from '../conformance-case.ts';
import {
  ANY_TEXT,
  having,
  keep,
  listWith,
  Matcher,
  MOMENT,
  NUMBER,
  same,
  TOKEN,
  TOKEN_ID,
  wholeNumber,
} from '../matcher.ts';
import { del, each, events, get, json, lines, path, post, put, refused, withoutToken } from '../requests.ts';
import { byDevice, kept, page, pull, pulled, signsIn } from './device-requests.ts';
import { aSource, aUser, clientView, PASSWORD, push } from './fixtures.ts';

function upload(...changes: readonly unknown[]): Sent {
  return byDevice(post('/sync/v1/push', { client_id: '{client}', changes }));
}

/** A list that has an element with these members. */
function including(members: Readonly<Record<string, unknown>>): Matcher {
  const { name, accepts } = having(members);
  return new Matcher(`a list with ${name}`, (value, kept) => {
    return Array.isArray(value) && value.some((element) => accepts(element, kept));
  });
}

const signingIn: readonly ConformanceCase[] = [
  {
    rule: 'SYNC-1',
    title: 'a device keeps its id across logins, and gets a new one if the id belongs to another user',
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      signsIn(name('anna')),
      signsIn(name('bob'), '_b'),
      [
        withoutToken(post('/sync/v1/login', { login: name('anna'), password: PASSWORD, client: '{client}' })),
        json({
          token: TOKEN,
          user_id: name('anna'),
          client_id: same('client'),
          expires_at: MOMENT,
          generation: wholeNumber(1),
        }),
      ],
      [
        withoutToken(post('/sync/v1/login', { login: name('anna'), password: PASSWORD, client: '{client_b}' })),
        json({
          token: TOKEN,
          user_id: name('anna'),
          client_id: new Matcher('a new id', (id, known) => id !== known.get('client') && id !== known.get('client_b')),
          expires_at: MOMENT,
          generation: wholeNumber(1),
        }),
      ],
    ],
  },
  {
    rule: 'SYNC-2',
    title: 'a wrong password and an unknown login get the same refusal',
    steps: (name) => [
      aUser(name('anna')),
      ...each(
        refused('invalid_credentials'),
        withoutToken(post('/sync/v1/login', { login: name('anna'), password: 'wrong' })),
        withoutToken(post('/sync/v1/login', { login: name('nobody'), password: PASSWORD })),
      ),
      ...each(
        refused('invalid_request'),
        withoutToken(post('/sync/v1/login', { login: name('anna') })),
        withoutToken(post('/sync/v1/login', { login: name('anna'), password: 7 })),
        withoutToken(post('/sync/v1/login', { login: name('anna'), password: PASSWORD, client: 7 })),
      ),
    ],
  },
  {
    rule: 'SYNC-3',
    title: 'a token is renewed, and ends when the device signs out or the password changes',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [
        byDevice(post('/sync/v1/token', {})),
        json({
          token: keep('device_2', TOKEN),
          user_id: name('anna'),
          client_id: same('client'),
          expires_at: MOMENT,
          generation: wholeNumber(1),
        }),
      ],
      [byDevice(put('/sync/v1/clients/{client}', {})), json({ client_id: same('client') })],
      [byDevice(put('/sync/v1/clients/{client}', {}), '_2'), json({ client_id: same('client') })],
      [byDevice(del('/sync/v1/token'), '_2'), json({ revoked: TOKEN_ID })],
      ...each(
        refused('token_revoked'),
        byDevice(put('/sync/v1/clients/{client}', {})),
        byDevice(post('/sync/v1/token', {}), '_2'),
      ),
      signsIn(name('anna'), '_3'),
      [
        put(path`/rc/v1/users/${name('anna')}`, { attributes: { password: PASSWORD } }),
        json(new Matcher('the user', (user) => typeof user === 'object')),
      ],
      [byDevice(get('/sync/v1/sources'), '_3'), refused('password_changed')],
    ],
  },
  {
    rule: 'SYNC-4',
    title: 'a device can use its own id only',
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      signsIn(name('anna')),
      signsIn(name('bob'), '_b'),
      ...each(
        refused('client_not_found'),
        byDevice(put('/sync/v1/clients/{client_b}', {})),
        byDevice(del('/sync/v1/clients/{client_b}')),
        byDevice(post('/sync/v1/clients/{client_b}/reset', {})),
        byDevice(post('/sync/v1/pull', { client_id: '{client_b}', sources: {} })),
        byDevice(post('/sync/v1/push', { client_id: '{client_b}', changes: [] })),
      ),
      ...each(
        refused('forbidden'),
        get('/sync/v1/sources'),
        get('/sync/v1/events'),
        byDevice(get('/rc/v1/users')),
        byDevice(get(path`/rc/v1/users/${name('anna')}`)),
        byDevice(post(push(name('Order'), 'push_objects'), { objects: {} })),
      ),
      ...each(refused('token_missing'), withoutToken(get('/sync/v1/sources')), withoutToken(get('/sync/v1/events'))),
    ],
  },
  {
    rule: 'WIPE-4',
    title: 'a device that is to be wiped gets no data, and its confirmation is kept',
    steps: (name) => {
      const order = { ordered_at: MOMENT, ordered_by: same('login'), confirmed_at: null, unsent_uploads: null };
      const confirm = (unsent_uploads: number) => byDevice(post('/sync/v1/clients/{client}/wiped', { unsent_uploads }));
      return [
        aUser(name('anna')),
        signsIn(name('anna')),
        [confirm(0), refused('wipe_not_ordered')],
        [post('/rc/v1/clients/{client}/wipe', {}), json(order)],
        [pull({}), refused('client_wiped')],
        [confirm(2), json({ ...order, confirmed_at: MOMENT, unsent_uploads: 2 })],
        [byDevice(get('/sync/v1/sources')), refused('token_invalid')],
        [post('/rc/v1/clients/{client}/wipe', {}), json({ ...order, confirmed_at: MOMENT, unsent_uploads: 2 })],
        [post(path`/rc/v1/clients/${name('nobody')}/wipe`, {}), refused('client_not_found')],
      ];
    },
  },
  {
    rule: 'SYNC-5',
    title: 'the attributes of a device are kept until the device is deleted',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [
        byDevice(post('/sync/v1/clients', { device_type: 'live', device_pin: 'p' })),
        json({ client_id: same('client') }),
      ],
      [
        get('/rc/v1/clients/{client}'),
        json({ ...clientView('', name('anna'), { device_type: 'live', device_pin: 'p' }), client_id: same('client') }),
      ],
      ...each(
        refused('invalid_value', '/device_type'),
        byDevice(post('/sync/v1/clients', { device_type: 'User' })),
        byDevice(put('/sync/v1/clients/{client}', { device_type: '../x' })),
      ),
      [byDevice(del('/sync/v1/clients/{client}')), json({ deleted: same('client') })],
      [byDevice(get('/sync/v1/sources')), refused('client_deleted')],
      [get('/rc/v1/clients/{client}'), refused('client_not_found')],
    ],
  },
];

const pulling: readonly ConformanceCase[] = [
  {
    rule: 'SYNC-6',
    title: 'a device gets the list of sources that it can synchronise',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order'), { conflicts: 'detect' }),
      signsIn(name('anna')),
      [
        byDevice(get('/sync/v1/sources')),
        json({
          sources: listWith({
            name: name('Order'),
            partition_type: 'user',
            sync_type: 'incremental',
            conflicts: 'detect',
            read_only: false,
            references: {},
            searchable: false,
          }),
        }),
      ],
    ],
  },
  {
    rule: 'SYNC-7',
    title: 'a device first gets everything, then changes, then an empty page',
    steps: (name) => {
      const [order, product] = [name('Order'), name('Product')];
      const report = (source: string, user_id: string | null, seq: number) => ({
        source,
        user_id,
        changed: 1,
        unchanged: 0,
        seq,
      });
      return [
        aUser(name('anna')),
        aSource(order),
        aSource(product, { partition_type: 'app' }),
        [
          post(push(order, 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1, b: 1 } } }),
          json(report(order, name('anna'), 1)),
        ],
        signsIn(name('anna')),
        [
          pull({ [order]: {}, [product]: { token: null } }),
          pulled({
            [order]: page('order', { reset: true, put: { 1: { a: 1, b: 1 } }, size: 1 }),
            [product]: page('product', { reset: true, size: 0 }),
          }),
        ],
        [
          post(push(order, 'push_objects'), { user_id: name('anna'), objects: { 1: { b: 2 } } }),
          json(report(order, name('anna'), 2)),
        ],
        [post(push(product, 'push_objects'), { objects: { p: { c: 1 } } }), json(report(product, null, 1))],
        [
          pull({ [order]: { token: kept('order') }, [product]: { token: kept('product') } }),
          pulled({
            [order]: page('order 2', { patch: { 1: { b: 2 } }, size: 1 }),
            // The first write begins the epoch of the shared data, so earlier devices start over.
            [product]: page('product 2', { reset: true, put: { p: { c: 1 } }, size: 1 }),
          }),
        ],
        [
          pull({ [order]: { token: kept('order 2') } }),
          pulled({ [order]: { token: same('token_order_2'), more: false, size: 1, checksum: NUMBER } }),
        ],
      ];
    },
  },
  {
    rule: 'SYNC-8',
    title: 'a pull of several sources reports errors per source, and an invalid pull is refused',
    steps: (name) => {
      const trouble = (code: string) => ({ error: { code, detail: ANY_TEXT } });
      return [
        aUser(name('anna')),
        aSource(name('Order')),
        aSource(name('Bulk'), { sync_type: 'bulk_only' }),
        signsIn(name('anna')),
        [
          pull({ [name('Nope')]: {}, '*': {}, [name('Bulk')]: {}, [name('Order')]: {} }),
          pulled({
            [name('Nope')]: trouble('source_not_found'),
            '*': trouble('invalid_name'),
            [name('Bulk')]: trouble('snapshot_required'),
            [name('Order')]: page('order', { reset: true, size: 0 }),
          }),
        ],
        ...each(
          refused('invalid_request'),
          pull({ A: null }),
          pull({ A: { token: 7 } }),
          pull({}, { max_objects: '1' }),
        ),
        ...each(refused('invalid_value'), pull({}, { max_objects: 0 })),
      ];
    },
  },
  {
    rule: 'SYNC-9',
    title: 'a pull with an unknown token starts over',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      signsIn(name('anna')),
      ...each(
        pulled({ [name('Order')]: page('any', { reset: true, size: 0 }) }),
        pull({ [name('Order')]: { token: '' } }),
        pull({ [name('Order')]: { token: 'x' } }),
        pull({ [name('Order')]: { token: '1.e.0.b0.0' } }),
      ),
    ],
  },
  {
    rule: 'SYNC-10',
    title: 'a device that is reset starts over',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      signsIn(name('anna')),
      [pull({ [name('Order')]: {} }), pulled({ [name('Order')]: page('order', { reset: true, size: 0 }) })],
      [
        byDevice(post('/sync/v1/clients/{client}/reset', { sources: [name('Order')] })),
        json({ reset: [name('Order')] }),
      ],
      [
        pull({ [name('Order')]: { token: kept('order') } }),
        pulled({ [name('Order')]: page('order', { reset: true, size: 0 }) }),
      ],
      ...each(
        refused('source_not_found'),
        byDevice(post('/sync/v1/clients/{client}/reset', { sources: [name('Nope')] })),
      ),
    ],
  },
];

const uploading: readonly ConformanceCase[] = [
  {
    rule: 'SYNC-16',
    title: 'a device acknowledges what it holds without another pull',
    steps: (name) => {
      const order = name('Order');
      const ack = (client_id: string, sources: Readonly<Record<string, string>>) =>
        byDevice(post('/sync/v1/ack', { client_id, sources }));
      return [
        aUser(name('anna')),
        aSource(order),
        signsIn(name('anna')),
        [
          post(push(order, 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
          json({ source: order, user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
        ],
        [pull({ [order]: {} }), pulled({ [order]: page('ack', { reset: true, put: { 1: { a: 1 } }, size: 1 }) })],
        [ack('{client}', { [order]: kept('ack') }), json({ acknowledged: [order] })],
        [ack('{client}', { [order]: 'not a token', [name('Nothing')]: kept('ack') }), json({ acknowledged: [] })],
        [ack(name('nobody'), {}), refused('client_not_found')],
        [
          get(`${path`/rc/v1/sources/${order}/receipts`}?user_id=${name('anna')}&seq=1`),
          json(having({ source: order, seq: 1, devices: 1, delivered: 1, behind: 0, never_synced: 0 })),
        ],
        [
          get(`/rc/v1/clients/{client}${path`/sources/${order}/objects/1/explain`}`),
          json(having({ verdict: 'current', remedy: '' })),
        ],
        [
          get('/rc/v1/clients/{client}/sync'),
          json({
            online: false,
            files_missing: [],
            sources: including({ source: order, acknowledged: 1, head: 1, waiting: 0 }),
          }),
        ],
        [get(`/rc/v1/clients/{client}${path`/sources/${order}/pending`}`), json(having({ more: false }))],
      ];
    },
  },
  {
    rule: 'SYNC-11',
    title: 'an upload is applied once, its outcome is repeated until it is acknowledged',
    steps: (name) => {
      const create = { op_id: 'c1', source: name('Order'), op: 'create', id: 'n1', attributes: { a: 1 } };
      const outcome = { op_id: 'c1', source: name('Order'), status: 'applied', id: 'n1' };
      const whole = page('order', { reset: true, put: { n1: { a: 1 } }, size: 1 });
      return [
        aUser(name('anna')),
        aSource(name('Order')),
        signsIn(name('anna')),
        ...each(json({ outcomes: [outcome] }), upload(create), upload(create)),
        [pull({ [name('Order')]: {} }), pulled({ [name('Order')]: whole }, [outcome])],
        [
          pull({ [name('Order')]: {} }, { acknowledged: { [name('Order')]: ['c1'] } }),
          pulled({ [name('Order')]: whole }),
        ],
      ];
    },
  },
  {
    rule: 'SYNC-12',
    title: 'a rejected upload has a reason and the present object; an invalid push is refused',
    steps: (name) => {
      const upload1 = { source: name('Order'), op: 'create', id: 'n1', attributes: { a: 1 } };
      const told = (op_id: string, status: string, code: string, current: unknown) => ({
        op_id,
        source: name('Order'),
        status,
        id: 'n1',
        error: { code, detail: ANY_TEXT },
        current,
      });
      return [
        aUser(name('anna')),
        aSource(name('Order')),
        signsIn(name('anna')),
        [
          upload({ ...upload1, op_id: '0', op: 'update' }),
          json({ outcomes: [told('0', 'conflict', 'object_not_found', null)] }),
        ],
        [
          upload({ ...upload1, op_id: '1' }, { ...upload1, op_id: '2', attributes: { b: 1 } }),
          json({
            outcomes: [
              { op_id: '1', source: name('Order'), status: 'applied', id: 'n1' },
              told('2', 'rejected', 'object_exists', { a: 1 }),
            ],
          }),
        ],
        ...each(
          refused('invalid_request'),
          upload({ ...upload1, op_id: '3', op: 'merge' }),
          upload({ ...upload1 }),
          upload(null),
        ),
      ];
    },
  },
];

const streams: readonly ConformanceCase[] = [
  {
    rule: 'EVENT-1',
    title: 'an event stream begins with the interval of its heartbeats',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [
        byDevice(get('/sync/v1/events')),
        events(new Matcher('ready', (text) => /^event: ready\ndata: \{"heartbeat_s":\d+\}\n\n/.test(String(text)))),
      ],
    ],
  },
  {
    rule: 'SNAP-1',
    title: 'a snapshot returns all pages, and continues from a token',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [
        post(push(name('Order'), 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
        json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
      ],
      signsIn(name('anna')),
      [
        byDevice(get(path`/sync/v1/sources/${name('Order')}/snapshot`)),
        lines(page('order', { reset: true, put: { 1: { a: 1 } }, size: 1 })),
      ],
      [
        byDevice(get(`${path`/sync/v1/sources/${name('Order')}/snapshot`}?token=${kept('order')}`)),
        lines(page('order', { size: 1 })),
      ],
    ],
  },
  {
    rule: 'SNAP-5',
    title: 'a snapshot of a missing source is refused',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [byDevice(get(path`/sync/v1/sources/${name('Nope')}/snapshot`)), refused('source_not_found')],
      [byDevice(get('/sync/v1/sources/%2A/snapshot')), refused('invalid_name')],
    ],
  },
  {
    rule: 'SYNC-14',
    title: 'a source without an adapter cannot be searched',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      signsIn(name('anna')),
      [byDevice(post('/sync/v1/search', { source: name('Order'), params: {} })), refused('search_not_available')],
      [byDevice(post('/sync/v1/search', { source: name('Nope'), params: {} })), refused('source_not_found')],
    ],
  },
];

export const deviceCases = [...signingIn, ...pulling, ...uploading, ...streams];
