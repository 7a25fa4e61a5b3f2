import type { ConformanceCase } from '../conformance-case.ts';
import { ANY_TEXT, having, keep, listOf, listWith, MOMENT, same, TOKEN, TOKEN_ID, wholeNumber } from '../matcher.ts';
import { AS_JSON, del, each, get, json, path, post, put, refused, text, withoutToken } from '../requests.ts';
import { byDevice, signsIn } from './device-requests.ts';
import { aSource, aUser, clientView, PASSWORD, userView } from './fixtures.ts';

function client(id: string): string {
  return path`/rc/v1/clients/${id}`;
}

function clientDoc(id: string, source: string, doc: string): string {
  return path`/rc/v1/clients/${id}/sources/${source}/docs/${doc}`;
}

function docnames(id: string, source: string): string {
  return path`/rc/v1/clients/${id}/sources/${source}/docnames`;
}

function ownClient(user: string, id: string): string {
  return path`/rc/v1/users/${user}/clients/${id}`;
}

const DEVICE = {
  device_type: 'android',
  device_pin: 'pin-of-a-device',
  device_port: '100',
  device_push_type: 'fcm',
  device_app_id: 'app',
  device_app_version: '1.2',
  schema_versions: { Order: 2 },
  phone_id: 'phone',
};

/** A device in a list of devices. */
function listed(id: string, user: string, changes: Readonly<Record<string, unknown>> = {}) {
  return {
    ...{ client_id: id, user_id: user, label: null, device_name: null, device_platform: null, device_system: null },
    ...{
      device_app_id: null,
      device_app_version: null,
      schema_versions: null,
      created_at: MOMENT,
      last_contact: MOMENT,
    },
    ...{ online: false, behind: null, wipe: 'none' },
    ...changes,
  };
}

const listing: readonly ConformanceCase[] = [
  {
    rule: 'DEVICE-20',
    title: 'the devices of all users are listed with their texts, searched, and paged',
    needs: ['devices'],
    steps: (name) => {
      const [anna, bob] = [name('anna'), name('bob')];
      const list = (query: string) => get(`/rc/v1/clients?${query}`);
      const known = { device_platform: 'web', device_system: 'Firefox 128', device_app_id: name('Field') };
      const first = listed(name('d1'), anna, { ...known, device_app_version: '2.9.1' });
      const found = (...clients: readonly object[]) =>
        json({ clients, total: wholeNumber(clients.length), examined: wholeNumber(0), next: null });
      const of = (user: string) => `user_id=${encodeURIComponent(user)}`;
      return [
        aUser(anna),
        aUser(bob),
        {
          device: { user: anna, attributes: { client_id: name('d1'), ...known, device_app_version: '2.9.1' } },
        },
        { device: { user: anna, attributes: { client_id: name('d2') } } },
        { device: { user: bob, attributes: { client_id: name('d3') } } },
        [list(of(anna)), found(first, listed(name('d2'), anna))],
        [list(of(bob)), found(listed(name('d3'), bob))],
        [
          list(`${of(anna)}&limit=1`),
          json({ clients: [first], total: wholeNumber(1), examined: 1, next: keep('place', ANY_TEXT) }),
        ],
        [list(`${of(anna)}&after={place}`), found(listed(name('d2'), anna))],
        [list(`${of(anna)}&text=FIREFOX`), found(first)],
        [list(`${of(anna)}&app_version_below=2.10`), found(first)],
        [list(`${of(anna)}&app_version_below=2.9.1`), found()],
        [list(`${of(anna)}&online=false`), found(first, listed(name('d2'), anna))],
        ...each(
          found(),
          list(`${of(anna)}&online=true`),
          list(`${of(anna)}&not_seen_days=1`),
          list(`${of(anna)}&behind=true`),
        ),
        ...each(
          refused('invalid_value'),
          list('limit=0'),
          list('limit=1001'),
          list('app_version_below=new'),
          list(`text=${'x'.repeat(201)}`),
        ),
        ...each(
          refused('invalid_request'),
          list('after=x'),
          list('behind=yes'),
          list('not_seen_days=soon'),
          list('x=1'),
        ),
      ];
    },
  },
  {
    rule: 'DEVICE-29',
    title: 'the names of some devices are read by one call',
    needs: ['devices'],
    steps: (name) => {
      const [first, second] = [name('d1'), name('d,2')];
      const names = (ids: unknown) => get(`/rc/v1/client_names?client_ids=${encodeURIComponent(JSON.stringify(ids))}`);
      const named = (id: string, changes: object = {}) => ({
        ...{ client_id: id, user_id: name('anna'), label: null, device_name: null, device_platform: null },
        ...{ device_system: null, device_app_id: null, device_app_version: null, ...changes },
      });
      return [
        aUser(name('anna')),
        { device: { user: name('anna'), attributes: { client_id: first, device_name: 'Till 3' } } },
        { device: { user: name('anna'), attributes: { client_id: second } } },
        [names([second, name('gone'), first, '']), json([named(second), named(first, { device_name: 'Till 3' })])],
        [names([]), json([])],
        [names(new Array(100).fill(first)), json(listOf(having({ client_id: first }), 100))],
        ...each(refused('invalid_value'), names(new Array(101).fill('d')), names([1]), names('d'), names({})),
        [get('/rc/v1/client_names?client_ids=d'), refused('invalid_value')],
        [get('/rc/v1/client_names'), refused('invalid_request')],
      ];
    },
  },
  {
    rule: 'DEVICE-23',
    title: 'a device says at its login what it is, and says it anew at the next login',
    steps: (name) => {
      const anna = name('anna');
      const login = { login: anna, password: PASSWORD };
      const device = {
        device_name: 'Till 3',
        device_platform: 'node',
        device_system: 'linux 6',
        device_app_version: '1',
      };
      const signed = having({ client_id: keep('client', ANY_TEXT), user_id: anna });
      const logIn = (body: object) => withoutToken(post('/sync/v1/login', { ...login, ...body }));
      return [
        aUser(anna),
        ...each(
          refused('invalid_value'),
          logIn({ device: { device_name: 'a\u0007b' } }),
          logIn({ device: { device_system: 'x'.repeat(201) } }),
          logIn({ device: { device_platform: 7 } }),
        ),
        [logIn({ device: { client_id: 'mine' } }), refused('immutable_attribute')],
        ...each(refused('invalid_request'), logIn({ device: { screen: 'large' } }), logIn({ device: [] })),
        [logIn({ device }), json(signed)],
        [get('/rc/v1/clients/{client}'), json(having(device))],
        [
          logIn({ client: '{client}', device: { device_app_version: '2' } }),
          json(having({ client_id: same('client') })),
        ],
        [get('/rc/v1/clients/{client}'), json(having({ ...device, device_app_version: '2' }))],
      ];
    },
  },
  {
    rule: 'DEVICE-24',
    title: 'an administrator sets and removes the label of a device',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      [put(client(name('d1')), { label: 'Van 7' }), json(clientView(name('d1'), name('anna'), { label: 'Van 7' }))],
      [get(client(name('d1'))), json(clientView(name('d1'), name('anna'), { label: 'Van 7' }))],
      [put(client(name('d1')), { label: null }), json(clientView(name('d1'), name('anna')))],
      ...each(
        refused('invalid_value'),
        put(client(name('d1')), { label: 'two\nlines' }),
        put(client(name('d1')), { label: 'x'.repeat(201) }),
        put(client(name('d1')), { label: 7 }),
      ),
      ...each(refused('invalid_request'), put(client(name('d1')), {}), put(client(name('d1')), { label: null, x: 1 })),
      [put(client(name('d2')), { label: 'x' }), refused('client_not_found')],
    ],
  },
  {
    rule: 'SESSION-15',
    title: 'all sessions of a device end by one call, and the device stays',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [byDevice(post('/sync/v1/token', {})), json(having({ token: keep('device_2', TOKEN) }))],
      [del('/rc/v1/clients/{client}/sessions'), json({ client_id: same('client'), ended: 2 })],
      ...each(refused('token_revoked'), byDevice(get('/sync/v1/sources')), byDevice(get('/sync/v1/sources'), '_2')),
      [del('/rc/v1/clients/{client}/sessions'), json({ client_id: same('client'), ended: 0 })],
      [get('/rc/v1/clients/{client}'), json(having({ user_id: name('anna') }))],
      [del(`${client(name('nobody'))}/sessions`), refused('client_not_found')],
    ],
  },
  {
    rule: 'SESSION-15',
    title: 'the sessions of a device that is to be wiped do not end, because its token tells it so',
    steps: (name) => [
      aUser(name('anna')),
      signsIn(name('anna')),
      [post('/rc/v1/clients/{client}/wipe', {}), json(having({ confirmed_at: null }))],
      [del('/rc/v1/clients/{client}/sessions'), refused('client_wiped')],
      [byDevice(get('/sync/v1/sources')), refused('client_wiped')],
    ],
  },
];

const withDevices: readonly ConformanceCase[] = [
  {
    rule: 'REST-9',
    title: 'the devices of a user are listed by id and counted',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([])],
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      { device: { user: name('anna'), attributes: { client_id: name('d2') } } },
      { device: { user: name('bob'), attributes: { client_id: name('d3') } } },
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([name('d1'), name('d2')])],
      [get(path`/rc/v1/users/${name('anna')}`), json(userView(name('anna'), {}, 2))],
      [get(path`/rc/v1/users/${name('nobody')}/clients`), refused('user_not_found')],
    ],
  },
  {
    rule: 'REST-9',
    title: 'a device is deleted by its own user only',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      ...each(
        refused('client_not_found'),
        del(ownClient(name('bob'), name('d1'))),
        del(ownClient(name('anna'), name('d2'))),
      ),
      [del(ownClient(name('nobody'), name('d1'))), refused('user_not_found')],
      [get(client(name('d1'))), json(clientView(name('d1'), name('anna')))],
      [del(ownClient(name('anna'), name('d1'))), json({ deleted: name('d1') })],
      ...each(refused('client_not_found'), get(client(name('d1'))), del(ownClient(name('anna'), name('d1')))),
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([])],
    ],
  },
  {
    rule: 'REST-9',
    title: 'deleting a user deletes the devices',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      [del(path`/rc/v1/users/${name('anna')}`), json({ deleted: name('anna') })],
      [get(client(name('d1'))), refused('client_not_found')],
    ],
  },
  {
    rule: 'REST-13',
    title: 'a device is returned with all its attributes; its pin only to administrators',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      { device: { user: name('anna'), attributes: { client_id: name('d1'), ...DEVICE } } },
      [get(client(name('d1'))), json(clientView(name('d1'), name('anna'), DEVICE))],
      [
        post('/rc/v1/tokens', { name: name('reader'), scopes: ['read'] }),
        json({
          token: keep('reader', TOKEN),
          id: TOKEN_ID,
          user: same('login'),
          name: name('reader'),
          scopes: ['read'],
          client: null,
          created_at: MOMENT,
          expires_at: null,
        }),
      ],
      [
        withoutToken(get(client(name('d1')), { 'x-sync-api-token': '{reader}' })),
        json(clientView(name('d1'), name('anna'), { ...DEVICE, device_pin: '***' })),
      ],
    ],
  },
  {
    rule: 'REST-13',
    title: 'the documents of a device and source are set, appended, listed and read',
    needs: ['devices'],
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      { device: { user: name('anna'), attributes: { client_id: name('d1') } } },
      [
        post(clientDoc(name('d1'), name('Order'), 'notes'), { data: 'a' }),
        json({ doc: 'notes', type: 'text', size: 1 }),
      ],
      [
        post(clientDoc(name('d1'), name('Order'), 'notes'), { data: 'b', append: true }),
        json({ doc: 'notes', type: 'text', size: 2 }),
      ],
      [
        post(clientDoc(name('d1'), name('Order'), 'seen'), { data: { 1: { a: 1 } } }),
        json({ doc: 'seen', type: 'objects', size: 1 }),
      ],
      [post(clientDoc(name('d1'), name('Order'), 'seen'), { data: 'x', append: true }), refused('type_conflict')],
      [get(docnames(name('d1'), name('Order'))), json(listWith('notes', 'seen'))],
      [get(clientDoc(name('d1'), name('Order'), 'notes')), text('ab')],
      [get(clientDoc(name('d1'), name('Order'), 'notes'), AS_JSON), json('ab')],
      [get(clientDoc(name('d1'), name('Order'), 'seen')), json({ 1: { a: 1 } })],
      [get(clientDoc(name('d1'), name('Order'), 'none')), refused('doc_not_found')],
      ...each(
        refused('source_not_found'),
        get(docnames(name('d1'), name('None'))),
        get(clientDoc(name('d1'), name('None'), 'x')),
      ),
    ],
  },
];

const withoutDevices: readonly ConformanceCase[] = [
  {
    rule: 'REST-13',
    title: 'every route answers 404 for a device that does not exist',
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [get(path`/rc/v1/users/${name('anna')}/clients`), json([])],
      ...each(
        refused('client_not_found'),
        get(client(name('d'))),
        del(ownClient(name('anna'), name('d'))),
        get(docnames(name('d'), name('Order'))),
        get(clientDoc(name('d'), name('Order'), 'x')),
        post(clientDoc(name('d'), name('Order'), 'x'), { data: '' }),
      ),
    ],
  },
];

export const clientCases = [...listing, ...withDevices, ...withoutDevices];
