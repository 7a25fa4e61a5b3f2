import type { ConformanceCase } from '../conformance-case.ts';
import { keep, listOf, listWith, Matcher, MOMENT, NUMBER, same, TOKEN, TOKEN_ID, wholeNumber } from '../matcher.ts';
import { AS_JSON, AS_TEXT, each, get, json, path, post, refused, text, withoutToken } from '../requests.ts';
import { aSource, aUser, mdOf, PASSWORD, push } from './fixtures.ts';

const LOGIN = '/rc/v1/system/login';
const CREDENTIALS = { login: '{login}', password: '{password}' };

const login: readonly ConformanceCase[] = [
  {
    rule: 'REST-1',
    title: 'a login returns the bare token as text',
    steps: () => [
      [withoutToken(post(LOGIN, CREDENTIALS)), text(keep('token', TOKEN))],
      [withoutToken(get('/rc/v1/users', { 'x-sync-api-token': '{token}' })), json(listWith())],
    ],
  },
  {
    rule: 'REST-1',
    title: 'a login that accepts JSON returns the token with its expiry',
    steps: () => [
      [
        withoutToken(post(LOGIN, CREDENTIALS, AS_JSON)),
        json({ token: TOKEN, user: same('login'), expires_at: MOMENT }),
      ],
      [withoutToken(post(LOGIN, CREDENTIALS, AS_TEXT)), text(TOKEN)],
      [withoutToken(post(LOGIN, CREDENTIALS, { accept: '*/*' })), text(TOKEN)],
    ],
  },
  {
    rule: 'REST-1',
    title: 'a wrong password and an unknown login get the same refusal',
    steps: (name) => [
      [withoutToken(post(LOGIN, { login: '{login}', password: name('wrong') })), refused('invalid_credentials')],
      [withoutToken(post(LOGIN, { login: name('nobody'), password: '{password}' })), refused('invalid_credentials')],
    ],
  },
  {
    rule: 'REST-1',
    title: 'a login needs exactly a login and a password, both texts',
    steps: () =>
      [
        {},
        { login: '{login}' },
        { password: '{password}' },
        { login: '{login}', password: null },
        { login: '{login}', password: 1 },
        { login: '{login}', password: ['{password}'] },
        { login: { $ne: null }, password: '{password}' },
        { ...CREDENTIALS, otp: '1' },
        { ...CREDENTIALS, id_token: 'x' },
        { login: '{login}', id_token: 'x' },
      ].map((body) => [withoutToken(post(LOGIN, body)), refused('invalid_request')] as const),
  },
  {
    rule: 'REST-1',
    title: 'a user who is no administrator cannot log in to the REST API',
    steps: (name) => [
      aUser(name('anna')),
      [withoutToken(post(LOGIN, { login: name('anna'), password: PASSWORD })), refused('forbidden')],
    ],
  },
];

const SESSION = '/rc/v1/session';
const OF_CONSOLE = { 'x-tidemark-console': '1' };

const session: readonly ConformanceCase[] = [
  {
    rule: 'CONSOLE-1',
    title: 'a session begins with a password or a token, and only pages of the server can use it',
    steps: () => [
      [withoutToken(post(SESSION, CREDENTIALS)), refused('forbidden')],
      [withoutToken(post(SESSION, {}, OF_CONSOLE)), refused('invalid_request')],
      [withoutToken(post(SESSION, { token: 'tmk_x' }, OF_CONSOLE)), refused('token_invalid')],
      [withoutToken(post(LOGIN, CREDENTIALS)), text(keep('token', TOKEN))],
      [
        withoutToken(post(SESSION, { token: '{token}' }, OF_CONSOLE)),
        json({
          session: { user: same('login'), token_id: TOKEN_ID, scopes: ['admin', 'admin:reset'], expires_at: MOMENT },
        }),
      ],
      [withoutToken(get(SESSION, OF_CONSOLE)), json({ session: null })],
      [withoutToken({ method: 'DELETE', path: SESSION, headers: OF_CONSOLE }), json({ session: null })],
      [withoutToken({ method: 'DELETE', path: SESSION }), refused('forbidden')],
    ],
  },
];

const PROVIDER = '/rc/v1/session/provider';

const provider: readonly ConformanceCase[] = [
  {
    rule: 'OIDC-31',
    title: 'the identity provider of administrators is named, or null, and only pages of the server begin a sign-in',
    steps: () => [
      [
        withoutToken(get(PROVIDER)),
        json({ name: new Matcher('a name or null', (value) => value === null || typeof value === 'string') }),
      ],
      [withoutToken(post(PROVIDER, {})), refused('forbidden')],
      [withoutToken(post(SESSION, { code: 'x' }, OF_CONSOLE)), refused('invalid_request')],
    ],
  },
];

const license: readonly ConformanceCase[] = [
  {
    rule: 'REST-2',
    title: 'the licence route returns the whole record, without a limit of seats',
    steps: () => [
      [
        get('/rc/v1/system/license'),
        json({
          license: 'Apache-2.0',
          edition: 'community',
          licensee: new Matcher('a name or null', (value) => value === null || typeof value === 'string'),
          seats: null,
          devices: wholeNumber(0),
          available: null,
          issued: MOMENT,
          expires: null,
          version: new Matcher('a version', (value) => /^[0-9]+\.[0-9]+\.[0-9]+/.test(String(value))),
        }),
      ],
    ],
  },
  {
    rule: 'REST-2',
    title: 'the settings are shown with their origins and without secrets, to administrators only',
    steps: () => [
      [get('/rc/v1/system/settings'), json(new Matcher('settings without secrets', areSettingsWithoutSecrets))],
      [withoutToken(get('/rc/v1/system/settings')), refused('token_missing')],
    ],
  },
];

function areSettingsWithoutSecrets(value: unknown): boolean {
  const settings = value as readonly { readonly name: string; readonly value: unknown; readonly origin: string }[];
  const shown = (name: string) => settings.find((setting) => setting.name === name)?.value;
  return (
    settings.every(({ name, origin }) => name !== '' && origin !== '') &&
    typeof shown('port') === 'number' &&
    [null, '***'].includes(shown('admin_password') as string | null)
  );
}

const APPSERVER = '/rc/v1/system/appserver';

const SIGNING_SECRET = new Matcher('a secret', (value) => /^whsec_[\w+/=]{43,}$/.test(String(value)));

const appserver: readonly ConformanceCase[] = [
  {
    rule: 'REST-3',
    needs: ['whole_server'],
    title: 'the backend is the one that was set last, and null removes it',
    steps: () => [
      [
        post(APPSERVER, { adapter_url: 'https://backend.example/tidemark' }),
        json({ adapter_url: 'https://backend.example/tidemark' }),
      ],
      [get(APPSERVER), json({ adapter_url: 'https://backend.example/tidemark' })],
      [post(APPSERVER, { adapter_url: null }), json({ adapter_url: null })],
      [get(APPSERVER), json({ adapter_url: null })],
      [
        post(`${APPSERVER}/check`, {}),
        json({ checks: [{ name: 'address', status: 'ok', detail: 'no backend is set' }] }),
      ],
      [get(`${APPSERVER}/failures`), json({ failures: new Matcher('a list', Array.isArray) })],
      [get('/rc/v1/system/backend_secret'), json({ secret: keep('secret', SIGNING_SECRET) })],
      [get('/rc/v1/system/backend_secret'), json({ secret: same('secret') })],
    ],
  },
  {
    rule: 'REST-3',
    needs: ['whole_server'],
    title: 'a URL that is not allowed changes nothing',
    steps: () => [
      [post(APPSERVER, { adapter_url: 'http://10.0.0.1:8080' }), json({ adapter_url: 'http://10.0.0.1:8080' })],
      ...each(
        refused('url_not_allowed', '/adapter_url'),
        post(APPSERVER, { adapter_url: 'file:///etc/passwd' }),
        post(APPSERVER, { adapter_url: '' }),
        post(APPSERVER, { adapter_url: 'http://user:secret@backend.example/' }),
      ),
      ...each(
        refused('invalid_request'),
        post(APPSERVER, {}),
        post(APPSERVER, { adapter_url: 7 }),
        post(APPSERVER, { adapter_url: null, more: 1 }),
      ),
      [get(APPSERVER), json({ adapter_url: 'http://10.0.0.1:8080' })],
      [post(APPSERVER, { adapter_url: null }), json({ adapter_url: null })],
    ],
  },
];

const STATS = '/rc/v1/system/stats';
const STEP = { at: wholeNumber(0), count: wholeNumber(1), sum: NUMBER, min: NUMBER, max: NUMBER };

function isSorted(value: unknown): boolean {
  const names = value as readonly string[];
  return names.every((one, index) => index === 0 || (names[index - 1] ?? '') < one);
}

const stats: readonly ConformanceCase[] = [
  {
    rule: 'REST-4',
    title: 'metric keys are listed by pattern, sorted',
    steps: (name) => [
      aSource(name('Order')),
      aUser(name('anna')),
      [
        post(push(name('Order'), 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
        json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
      ],
      [
        post(push(name('Order'), 'push_deletes'), { user_id: name('anna'), objects: ['1'] }),
        json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 2 }),
      ],
      [
        get(`${STATS}?names=${path`${`sources:*:${name('Order')}`}`}`),
        json([`sources:push_deletes:${name('Order')}`, `sources:push_objects:${name('Order')}`]),
      ],
      [
        get(`${STATS}?names=${path`${`sources:push_objects:${name('Order')}`}`}`),
        json([`sources:push_objects:${name('Order')}`]),
      ],
      [get(`${STATS}?names=http:POST:*`), json(new Matcher('sorted', isSorted))],
      [get(`${STATS}?names=http:POST:*`), json(listWith('http:POST:/app/v1/:source_name/push_objects'))],
      [get(`${STATS}?names=${name('nothing')}`), json([])],
    ],
  },
  {
    rule: 'REST-4',
    title: 'a metric is a list of steps, and its bounds are indexes in the list',
    steps: (name) => {
      const metric = `${STATS}?metric=${path`${`sources:fast_insert:${name('Order')}`}`}`;
      const pushed = { source: name('Order'), user_id: null, changed: 1, unchanged: 0, seq: 1 };
      return [
        aSource(name('Order'), { partition_type: 'app' }),
        [post(push(name('Order'), 'fast_insert'), { objects: { 1: { a: 1 } } }), json(pushed)],
        [get(metric), json(listOf(STEP))],
        [get(`${metric}&start=0&finish=-1`), json(listOf(STEP))],
        [get(`${metric}&start=-1`), json(listOf(STEP))],
        [get(`${metric}&start=-1&finish=-1`), json([STEP])],
        [get(`${metric}&start=0&finish=0`), json([STEP])],
        [get(`${metric}&finish=1000000000`), json(listOf(STEP))],
        [get(`${metric}&start=1000000`), json([])],
        [get(`${metric}&start=2&finish=1`), json([])],
      ];
    },
  },
  {
    rule: 'REST-4',
    title: 'an invalid bound, metric or query of statistics is refused',
    steps: (name) => [
      ...each(
        refused('invalid_request'),
        get(STATS),
        get(`${STATS}?start=0`),
        get(`${STATS}?metric=users&names=users`),
        get(`${STATS}?metric=users&start=abc`),
        get(`${STATS}?metric=users&finish=1.5`),
        get(`${STATS}?metric=users&finish=1e9`),
        get(`${STATS}?names=a&names=b`),
        get(`${STATS}?names=a&other=b`),
      ),
      [get(`${STATS}?metric=${name('nothing')}`), refused('metric_not_found')],
      [get(`${STATS}?names=${'*a'.repeat(9)}`), refused('invalid_value', '/names')],
    ],
  },
];

const reset: readonly ConformanceCase[] = [
  {
    rule: 'REST-22',
    title: 'a reset deletes everything except the caller and the administrator',
    needs: ['whole_server'],
    steps: (name) => [
      aUser(name('anna')),
      aSource(name('Order')),
      [post(path`/rc/v1/store/${name('doc')}`, { data: 'x' }), json({ doc: name('doc'), type: 'text', size: 1 })],
      [
        post(push(name('Order'), 'push_objects'), { user_id: name('anna'), objects: { 1: { a: 1 } } }),
        json({ source: name('Order'), user_id: name('anna'), changed: 1, unchanged: 0, seq: 1 }),
      ],
      [
        post('/rc/v1/system/reset', {}),
        json({ epoch: keep('epoch', new Matcher('a word', (value) => /^[\w-]+$/.test(String(value)))) }),
      ],
      [get('/rc/v1/users'), json([same('login')])],
      [get(path`/rc/v1/users/${name('anna')}`), refused('user_not_found')],
      [get(path`/rc/v1/sources/${name('Order')}`), refused('source_not_found')],
      [get(path`/rc/v1/store/${name('doc')}`), refused('doc_not_found')],
      aUser(name('anna')),
      aSource(name('Order')),
      [get(mdOf(name('anna'), name('Order'))), json({})],
      [
        post('/rc/v1/system/reset', {}),
        json({ epoch: new Matcher('another epoch', (value, kept) => value !== kept.get('epoch')) }),
      ],
      [withoutToken(post(LOGIN, CREDENTIALS)), text(TOKEN)],
    ],
  },
  {
    rule: 'REST-22',
    title: 'a reset takes an empty object and nothing else',
    steps: () => [
      [post('/rc/v1/system/reset', { really: true }), refused('invalid_request')],
      [post('/rc/v1/system/reset', []), refused('invalid_request', '')],
    ],
  },
];

export const systemCases = [...login, ...session, ...provider, ...license, ...appserver, ...stats, ...reset];
