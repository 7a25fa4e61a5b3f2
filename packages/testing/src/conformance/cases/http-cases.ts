import type { ConformanceCase, Exchange, Sent } from '../conformance-case.ts';
import { listOf, listWith, Matcher } from '../matcher.ts';
import { AS_TEXT, del, each, get, json, path, post, put, refused, text, withoutToken } from '../requests.ts';
import { aSource, aUser, push, sourceView, userView } from './fixtures.ts';

/** One request to every route that needs a token. Their content would be refused as well. */
const GUARDED: readonly Sent[] = [
  get('/rc/v1/system/license'),
  post('/rc/v1/system/reset', {}),
  get('/rc/v1/system/appserver'),
  post('/rc/v1/system/appserver', { adapter_url: null }),
  get('/rc/v1/system/stats?names=*'),
  get('/rc/v1/store/x'),
  post('/rc/v1/store/x', { data: '' }),
  get('/rc/v1/store'),
  post('/rc/v1/users', { attributes: {} }),
  get('/rc/v1/users'),
  get('/rc/v1/users/x'),
  put('/rc/v1/users/x', { attributes: {} }),
  del('/rc/v1/users/x'),
  get('/rc/v1/users/x/clients'),
  del('/rc/v1/users/x/clients/x'),
  get('/rc/v1/users/x/sources/x/docnames'),
  get('/rc/v1/users/x/sources/x/objects'),
  get('/rc/v1/users/x/sources/x/docs/x'),
  post('/rc/v1/users/x/sources/x/docs/x', { data: '' }),
  post('/rc/v1/read_state/users/x/sources/x', {}),
  put('/rc/v1/readstate/users/x/sources/x', {}),
  get('/rc/v1/sources'),
  post('/rc/v1/sources', {}),
  get('/rc/v1/sources/type/app'),
  get('/rc/v1/sources/x'),
  put('/rc/v1/sources/x', { data: {} }),
  del('/rc/v1/sources/x'),
  get('/rc/v1/clients/x'),
  get('/rc/v1/clients/x/sources/x/docnames'),
  get('/rc/v1/clients/x/sources/x/docs/x'),
  post('/rc/v1/clients/x/sources/x/docs/x', { data: '' }),
  ...['push_objects', 'push_deletes', 'fast_insert', 'fast_update', 'fast_delete'].map((operation) =>
    post(`/app/v1/x/${operation}`, {}),
  ),
  get('/rc/v1/client_names?client_ids=[]'),
  get('/rc/v1/tokens'),
  get('/rc/v1/token_details'),
  post('/rc/v1/tokens', {}),
  del('/rc/v1/tokens/x'),
  get('/rc/v1/audit'),
];

const MISTYPED = `tmk_${'0'.repeat(49)}`;

const guarding: readonly ConformanceCase[] = [
  {
    rule: 'REST-20',
    title: 'every route but the login needs a token in a header',
    steps: () => each(refused('token_missing'), ...GUARDED.map(withoutToken)),
  },
  {
    rule: 'REST-20',
    title: 'an invalid token is refused in either header',
    steps: () => [
      ...each(
        refused('token_invalid'),
        ...GUARDED.map((sent) => withoutToken({ ...sent, headers: { ...sent.headers, 'x-sync-api-token': MISTYPED } })),
        withoutToken(get('/rc/v1/users', { authorization: `Bearer ${MISTYPED}` })),
        withoutToken(get('/rc/v1/users', { 'x-sync-api-token': '{admin_token}x' })),
      ),
    ],
  },
  {
    rule: 'REST-20',
    title: 'the token is read from X-Sync-API-TOKEN or Authorization: Bearer, and from nowhere else',
    steps: () => [
      ...each(
        json(listWith()),
        withoutToken(get('/rc/v1/users', { 'x-sync-api-token': '{admin_token}' })),
        withoutToken(get('/rc/v1/users', { 'X-SYNC-API-TOKEN': '{admin_token}' })),
        withoutToken(get('/rc/v1/users', { authorization: 'Bearer {admin_token}' })),
        withoutToken(get('/rc/v1/users', { authorization: 'bearer {admin_token}' })),
      ),
      ...each(
        refused('token_missing'),
        withoutToken(get('/rc/v1/users?api_token={admin_token}')),
        withoutToken(get('/rc/v1/users', { cookie: 'api_token={admin_token}' })),
        withoutToken(get('/rc/v1/users', { authorization: 'Basic {admin_token}' })),
        withoutToken(get('/rc/v1/users', { authorization: '{admin_token}' })),
        withoutToken(post('/rc/v1/users', { attributes: {}, api_token: '{admin_token}' })),
      ),
    ],
  },
];

const errors: readonly ConformanceCase[] = [
  {
    rule: 'REST-21',
    title: 'a refusal is a problem document, or its detail alone if the caller prefers plain text',
    steps: (name) => [
      [get(path`/rc/v1/users/${name('nobody')}`), refused('user_not_found')],
      [get(path`/rc/v1/users/${name('nobody')}`, { accept: 'application/json' }), refused('user_not_found')],
      [get(path`/rc/v1/users/${name('nobody')}`, { accept: 'text/html, */*;q=0.1' }), refused('user_not_found')],
      [get(path`/rc/v1/users/${name('nobody')}`, AS_TEXT), { kind: 'refused_text', code: 'user_not_found' }],
      [withoutToken(get('/rc/v1/users', AS_TEXT)), { kind: 'refused_text', code: 'token_missing' }],
      [get('/rc/v1/nothing', AS_TEXT), { kind: 'refused_text', code: 'not_found' }],
    ],
  },
  {
    rule: 'REST-21',
    title: 'an unknown path is refused before any other check',
    steps: () => [
      ...each(
        refused('not_found'),
        withoutToken(get('/rc/v1/nothing')),
        withoutToken(get('/rc/v2/users')),
        withoutToken(post('/rc/v1/system/logon', {})),
        withoutToken({
          method: 'POST',
          path: '/rc/v1/nothing',
          text: '{"torn',
          headers: { 'content-type': 'application/json' },
        }),
        get('/rc/v1/users/a/b/c'),
        get('/app/v1/Order/push_everything'),
      ),
    ],
  },
  {
    rule: 'REST-21',
    title: 'a wrong method is refused with the allowed methods',
    steps: () => {
      const cases: readonly (readonly [method: string, to: string, allow: string])[] = [
        ['GET', '/rc/v1/system/login', 'POST'],
        ['DELETE', '/rc/v1/system/license', 'GET, HEAD'],
        ['PUT', '/rc/v1/store/x', 'GET, HEAD, POST'],
        ['PATCH', '/rc/v1/users/x', 'DELETE, GET, HEAD, PUT'],
        ['POST', '/rc/v1/sources/x', 'DELETE, GET, HEAD, PUT'],
        ['GET', '/rc/v1/read_state/users/x/sources/x', 'POST, PUT'],
        ['OPTIONS', '/rc/v1/users', 'GET, HEAD, POST'],
        ['GET', '/app/v1/x/push_objects', 'POST'],
        ['DELETE', '/rc/v1/audit', 'GET, HEAD'],
      ];
      return cases.map(
        ([method, to, allow]): Exchange => [
          { method, path: to },
          { kind: 'refused', code: 'method_not_allowed', headers: { allow } },
        ],
      );
    },
  },
  {
    rule: 'REST-21',
    title: 'a body must be a JSON object',
    steps: (name) => {
      const to = path`/rc/v1/store/${name('d')}`;
      const raw = (body: string, type = 'application/json'): Sent => ({
        method: 'POST',
        path: to,
        text: body,
        headers: { 'content-type': type },
      });
      return [
        ...each(
          refused('invalid_json'),
          ...['', '{', '{"data":', '{"data":"x",}', '{"data":NaN}', '\ufeff{"data":"x"}', "{'data':1}"].map((body) =>
            raw(body),
          ),
        ),
        [raw('{"data":"a","data":"b"}'), refused('invalid_json')],
        ...each(refused('invalid_request', ''), ...['null', '7', '"x"', '[]', 'true'].map((body) => raw(body))),
        ...each(
          refused('unsupported_media_type'),
          raw('data=x', 'application/x-www-form-urlencoded'),
          raw('{"data":"x"}', 'text/plain'),
          raw('{"data":"x"}', 'not a type'),
          { method: 'POST', path: to, text: '{"data":"x"}' },
        ),
        [
          { ...raw('{"data":"x"}'), headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' } },
          refused('unsupported_media_type'),
        ],
        [raw('{"data":"x"}', 'application/json; charset=utf-8'), json({ doc: name('d'), type: 'text', size: 1 })],
        [raw(' {"data" : "y"} ', 'Application/JSON'), json({ doc: name('d'), type: 'text', size: 1 })],
        [get(to), text('y')],
      ];
    },
  },
  {
    rule: 'REST-21',
    title: 'a request without a body may have a content type',
    steps: (name) => [
      aUser(name('anna')),
      [
        { ...del(path`/rc/v1/users/${name('anna')}`), headers: { 'content-type': 'application/json' } },
        json({ deleted: name('anna') }),
      ],
      [
        get('/rc/v1/system/appserver', { 'content-type': 'application/json' }),
        json({ adapter_url: new Matcher('a URL or null', () => true) }),
      ],
    ],
  },
  {
    rule: 'REST-21',
    title: 'HEAD answers like GET, without the body',
    steps: (name) => [
      [
        { method: 'HEAD', path: '/rc/v1/users' },
        { kind: 'bare', status: 200 },
      ],
      [
        { method: 'HEAD', path: path`/rc/v1/users/${name('nobody')}` },
        { kind: 'bare', status: 404 },
      ],
      [
        { method: 'HEAD', path: '/rc/v1/users', token: 'none' },
        { kind: 'bare', status: 401 },
      ],
      [
        { method: 'HEAD', path: '/rc/v1/system/login', token: 'none' },
        { kind: 'bare', status: 405 },
      ],
    ],
  },
];

/** Names that break if the server joins, splits, normalises or globs them. */
function awkwardNames(name: (text: string) => string): readonly string[] {
  const padded = name('');
  return [
    name('a/b'),
    name('*x'),
    name('?'),
    name('[a]'),
    name('%2F'),
    name('a b+c&d=e#f'),
    name(':;,@$!'),
    name('🌊 é ü'),
    name('"\\'),
    name('..'),
    padded + 'x'.repeat(255 - Buffer.byteLength(padded)),
  ];
}

const names: readonly ConformanceCase[] = [
  {
    rule: 'REST-19',
    title: 'users may have any legal name, percent-encoded in the path',
    steps: (name) =>
      awkwardNames(name).flatMap((login): readonly Exchange[] => [
        aUser(login),
        [get(path`/rc/v1/users/${login}`), json(userView(login))],
      ]),
  },
  {
    rule: 'REST-19',
    title: 'sources, documents and objects may have any legal name',
    steps: (name) =>
      awkwardNames(name).flatMap((word): readonly Exchange[] => [
        aSource(word, { partition_type: 'app' }),
        [get(path`/rc/v1/sources/${word}`), json(sourceView(word, { partition_type: 'app' }))],
        [
          post(push(word, 'push_objects'), { objects: { [word]: { [word]: word } } }),
          json({ source: word, user_id: null, changed: 1, unchanged: 0, seq: 1 }),
        ],
        [get(path`/rc/v1/users/*/sources/${word}/docs/md`), json({ [word]: { [word]: word } })],
        [
          post(path`/rc/v1/users/*/sources/${word}/docs/${word}`, { data: word }),
          json({ doc: word, type: 'text', size: word.length }),
        ],
        [get(path`/rc/v1/users/*/sources/${word}/docs/${word}`), text(word)],
        [get(path`/rc/v1/users/*/sources/${word}/docnames`), json(['md', word])],
      ]),
  },
  {
    rule: 'REST-19',
    title: 'an invalid name is refused',
    steps: (name) => [
      ...each(
        refused('invalid_name'),
        get('/rc/v1/users/*'),
        get('/rc/v1/users/%2A'),
        get('/rc/v1/store/*'),
        post('/rc/v1/store/%2a', { data: '' }),
        get('/rc/v1/sources/__proto__'),
        get('/rc/v1/users/a%00b'),
        get('/rc/v1/users/a%0Ab'),
        get(`/rc/v1/users/${'x'.repeat(256)}`),
        get(`/rc/v1/sources/${'%F0%9F%8C%8A'.repeat(64)}`),
        get('/rc/v1/users/'),
        post('/app/v1/*/push_objects', { user_id: 'x', objects: {} }),
      ),
      [get('/rc/v1/users/%zz'), refused('invalid_request')],
      [get('/rc/v1/users/%ff'), refused('invalid_request')],
      [get(`/rc/v1/users/${'x'.repeat(2_000)}`), refused('uri_too_long')],
      [get(path`/rc/v1/users/${name('constructor')}`), refused('user_not_found')],
      ...each(refused('user_not_found'), get('/rc/v1/users/constructor'), get('/rc/v1/users/toString')),
    ],
  },
];

function isDescription(value: unknown): boolean {
  return (value as { readonly openapi?: unknown }).openapi === '3.1.0';
}

const service: readonly ConformanceCase[] = [
  {
    rule: 'REST-23',
    title: 'the service reports its name, its version and that it is ready',
    steps: () => [
      [withoutToken(get('/healthz')), json({ status: 'ok' })],
      [
        withoutToken(get('/version')),
        json({
          name: 'tidemark',
          version: new Matcher('a version', (value) => /^[0-9]+\.[0-9]+\.[0-9]+/.test(String(value))),
        }),
      ],
      [
        get('/readyz'),
        json({
          status: 'ready',
          degraded: false,
          durability: new Matcher('a word', (value) => typeof value === 'string'),
          checks: listOf({
            name: new Matcher('a name', (value) => typeof value === 'string'),
            ok: true,
            detail: new Matcher('a text', (value) => typeof value === 'string'),
          }),
          backend: {
            state: new Matcher('a state', (value) => typeof value === 'string'),
            failures: new Matcher('a number', (value) => Number.isInteger(value)),
            until: new Matcher('a time or null', (value) => value === null || typeof value === 'string'),
          },
          sign_in: new Matcher('a list of who checks a login', (value) => Array.isArray(value)),
          connectors: [],
        }),
      ],
      [
        withoutToken(get('/', { accept: 'application/json' })),
        json({
          name: 'tidemark',
          version: new Matcher('a version', (value) => /^[0-9]+\.[0-9]+\.[0-9]+/.test(String(value))),
          ...{ console: '/console/', api: '/openapi.json', docs: '/docs/', health: '/healthz', readiness: '/readyz' },
        }),
      ],
      [withoutToken(get('/openapi.json')), json(new Matcher('a description', isDescription))],
      [get('/metrics'), { kind: 'metrics' }],
      [withoutToken(get('/metrics')), refused('token_missing')],
      [
        withoutToken({ method: 'DELETE', path: '/healthz' }),
        { kind: 'refused', code: 'method_not_allowed', headers: { allow: 'GET, HEAD' } },
      ],
    ],
  },
];

export const httpCases = [...guarding, ...errors, ...names, ...service];
