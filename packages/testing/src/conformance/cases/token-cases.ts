import type { ConformanceCase } from '../conformance-case.ts';
import {
  ANY_TEXT,
  having,
  keep,
  listOf,
  listWith,
  listWithout,
  Matcher,
  MOMENT,
  REQUEST_ID,
  same,
  TOKEN,
  TOKEN_ID,
  wholeNumber,
} from '../matcher.ts';
import { del, each, events, get, json, path, post, refused, withoutToken } from '../requests.ts';
import { aSource, aUser, PASSWORD, push } from './fixtures.ts';

const TOKENS = '/rc/v1/tokens';

function tokenView(name: string, scopes: readonly string[], changes: Readonly<Record<string, unknown>> = {}) {
  return {
    id: TOKEN_ID,
    user: same('login'),
    name,
    scopes,
    client: null,
    created_at: MOMENT,
    expires_at: null,
    ...changes,
  };
}

function issued(name: string, scopes: readonly string[], changes: Readonly<Record<string, unknown>> = {}) {
  return json({ token: keep('token', TOKEN), ...tokenView(name, scopes, { id: keep('id', TOKEN_ID), ...changes }) });
}

const ANY = new Matcher('anything', () => true);

const OWN = { 'x-sync-api-token': '{token}' } as const;

const tokens: readonly ConformanceCase[] = [
  {
    rule: 'REST-17',
    title: 'a token is shown once, listed without its secret, and valid until it is revoked',
    steps: (name) => [
      [post(TOKENS, { name: name('ci'), scopes: ['push', 'read'] }), issued(name('ci'), ['read', 'push'])],
      [get(TOKENS), json(listWith(tokenView(name('ci'), ['read', 'push'], { id: same('id') })))],
      [withoutToken(get('/rc/v1/sources', OWN)), json(listOf(ANY, 0))],
      [withoutToken(get('/rc/v1/sources', { authorization: 'Bearer {token}' })), json(listOf(ANY, 0))],
      [del(`${TOKENS}/{id}`), json({ revoked: same('id') })],
      [withoutToken(get('/rc/v1/sources', OWN)), refused('token_invalid')],
      [del(`${TOKENS}/{id}`), refused('token_not_found')],
      [get(TOKENS), json(listWithout(tokenView(name('ci'), ['read', 'push'], { id: same('id') })))],
    ],
  },
  {
    rule: 'SESSION-17',
    title: 'named tokens are told from sessions, found by a text, and paged',
    steps: (name) => {
      const list = (query: string) => get(`/rc/v1/token_details?${query}`);
      const found = (...rows: readonly object[]) =>
        json({ tokens: rows, total: wholeNumber(rows.length), examined: wholeNumber(0), next: null });
      const ci = tokenView(name('ci'), ['push'], { id: same('id') });
      const session = {
        name: null,
        scopes: ['device'],
        client: same('client'),
        user: name('anna'),
        expires_at: MOMENT,
      };
      const ofDevice = tokenView('', [], { ...session, id: TOKEN_ID });
      const text = `text=${encodeURIComponent(name('ci').toUpperCase())}`;
      const device = `text=${encodeURIComponent(name('Firefox'))}`;
      return [
        aUser(name('anna')),
        [post(TOKENS, { name: name('ci'), scopes: ['push'] }), issued(name('ci'), ['push'])],
        [
          withoutToken(
            post('/sync/v1/login', {
              ...{ login: name('anna'), password: PASSWORD },
              device: { device_system: name('Firefox') },
            }),
          ),
          json(having({ client_id: keep('client', ANY_TEXT) })),
        ],
        ...each(found(ci), list(text), list(`${text}&kind=named`)),
        ...each(found(), list(`${text}&kind=session`), list(`${device}&kind=named`)),
        ...each(found(ofDevice), list(device), list(`${device}&kind=session`)),
        [
          list('limit=1'),
          json({ tokens: listOf(ANY, 1), total: wholeNumber(1), examined: 1, next: keep('place', TOKEN_ID) }),
        ],
        [list('limit=1&after={place}'), json(having({ examined: 1 }))],
        ...each(
          refused('invalid_value'),
          list('limit=0'),
          list('limit=1001'),
          list(`text=${'x'.repeat(201)}`),
          list('after=x'),
        ),
        ...each(refused('invalid_request'), list('kind=all'), list('x=1')),
      ];
    },
  },
  {
    rule: 'REST-17',
    title: 'a token may expire, and belong to another user',
    steps: (name) => [
      aUser(name('anna')),
      [
        post(TOKENS, { name: name('t'), scopes: ['push'], expires_at: '2099-01-31T12:00:00Z', user: name('anna') }),
        issued(name('t'), ['push'], { user: name('anna'), expires_at: '2099-01-31T12:00:00.000Z' }),
      ],
      [post(TOKENS, { name: name('t'), scopes: ['admin'], user: name('anna') }), refused('forbidden')],
      [post(TOKENS, { name: name('t'), scopes: ['push'], user: name('nobody') }), refused('user_not_found')],
    ],
  },
  {
    rule: 'REST-17',
    title: 'scopes, name and expiry of a token are checked',
    steps: (name) => [
      ...each(
        refused('invalid_value', '/scopes'),
        post(TOKENS, { name: name('t'), scopes: [] }),
        post(TOKENS, { name: name('t'), scopes: ['root'] }),
      ),
      ...each(
        refused('invalid_request', '/scopes'),
        post(TOKENS, { name: name('t'), scopes: 'read' }),
        post(TOKENS, { name: name('t') }),
      ),
      ...each(
        refused('invalid_value', '/expires_at'),
        post(TOKENS, { name: name('t'), scopes: ['read'], expires_at: 'tomorrow' }),
        post(TOKENS, { name: name('t'), scopes: ['read'], expires_at: '2001-01-01T00:00:00Z' }),
      ),
      [post(TOKENS, { name: '', scopes: ['read'] }), refused('invalid_name', '/name')],
      ...each(refused('invalid_value', '/after'), get(`${TOKENS}?after=x`)),
      ...each(refused('invalid_value', '/limit'), get(`${TOKENS}?limit=0`)),
      [get(`${TOKENS}?limit=1`), json([new Matcher('a token', (value) => typeof value === 'object')])],
      ...each(refused('token_not_found'), del(`${TOKENS}/0123456789abcdef`), del(`${TOKENS}/x`)),
    ],
  },
  {
    rule: 'REST-17',
    title: 'a scope allows its routes and no others',
    steps: (name) => [
      aSource(name('Order'), { partition_type: 'app' }),
      [post(TOKENS, { name: name('r'), scopes: ['read'] }), issued(name('r'), ['read'])],
      [withoutToken(get('/rc/v1/users', OWN)), json(listWith())],
      ...each(
        refused('forbidden'),
        withoutToken(post(path`/rc/v1/store/${name('d')}`, { data: '' }, OWN)),
        withoutToken(post(push(name('Order'), 'push_objects'), { objects: {} }, OWN)),
        withoutToken(get('/rc/v1/audit', OWN)),
        withoutToken(get(TOKENS, OWN)),
        withoutToken(post('/rc/v1/system/reset', {}, OWN)),
      ),
      [post(TOKENS, { name: name('p'), scopes: ['push'] }), issued(name('p'), ['push'])],
      [
        withoutToken(post(push(name('Order'), 'push_objects'), { objects: {} }, OWN)),
        json({ source: name('Order'), user_id: null, changed: 0, unchanged: 0, seq: 0 }),
      ],
      ...each(refused('forbidden'), withoutToken(get('/rc/v1/users', OWN)), withoutToken(get('/rc/v1/sources', OWN))),
      [post(TOKENS, { name: name('a'), scopes: ['admin'] }), issued(name('a'), ['admin'])],
      ...each(
        refused('forbidden'),
        withoutToken(post('/rc/v1/system/reset', {}, OWN)),
        withoutToken(post(TOKENS, { name: name('more'), scopes: ['admin:reset'] }, OWN)),
      ),
    ],
  },
];

const FACT = {
  id: new Matcher('an id', (value) => /^[0-9a-z]{9}-[0-9a-f]{12}$/.test(String(value))),
  at: MOMENT,
  actor: new Matcher('a login or null', (value) => value === null || typeof value === 'string'),
  token_id: new Matcher('the id of a token or null', (value) => value === null || typeof value === 'string'),
  action: new Matcher('an action', (value) => /^[a-z_.]+$/.test(String(value))),
  target: new Matcher('a path', (value) => String(value).startsWith('/')),
  result: new Matcher('ok or a code', (value) => /^[a-z_]+$/.test(String(value))),
  address: new Matcher('an address', (value) => typeof value === 'string' && value !== ''),
  request_id: REQUEST_ID,
  count: new Matcher('how often', (value) => Number(value) >= 1),
  subject: new Matcher('what it is about', (value) => typeof value === 'object' && value !== null),
  objects_changed: new Matcher('a number or null', (value) => value === null || Number(value) >= 0),
  changes: new Matcher('changes of attributes', Array.isArray),
  are_changes_cut: new Matcher('whether there are more', (value) => typeof value === 'boolean'),
};

const audit: readonly ConformanceCase[] = [
  {
    rule: 'REST-18',
    title: 'actions of administrators and refusals are in the audit trail, newest first',
    steps: (name) => [
      aUser(name('anna')),
      [
        post('/rc/v1/users', { attributes: { login: name('anna'), password: 'secret of the trail' } }),
        refused('user_exists'),
      ],
      [
        get('/rc/v1/audit?limit=2'),
        json([
          { ...FACT, actor: same('login'), action: 'user.create', target: '/rc/v1/users', result: 'user_exists' },
          { ...FACT, actor: same('login'), action: 'user.create', target: '/rc/v1/users', result: 'ok' },
        ]),
      ],
      [get('/rc/v1/audit'), json(listOf(FACT))],
    ],
  },
  {
    rule: 'AUDIT-21',
    title: 'the audit trail is searched by person, action, subject and time, page by page',
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      [del(path`/rc/v1/users/${name('anna')}`), json({ deleted: name('anna') })],
      [
        get(path`/rc/v1/audit/search?action=user.&about=${name('anna')}&limit=1`),
        json({
          facts: [{ ...FACT, action: 'user.delete', actor: same('login'), subject: { user_id: name('anna') } }],
          next: keep('next', FACT.id),
        }),
      ],
      [
        get(path`/rc/v1/audit/search?action=user.create&about=${name('anna')}&after={next}`),
        json({ facts: [{ ...FACT, action: 'user.create', subject: { user_id: name('anna') } }], next: null }),
      ],
      ...each(
        json({ facts: [], next: null }),
        get(path`/rc/v1/audit/search?about=${name('anna')}&actor=${name('nobody')}`),
        get(path`/rc/v1/audit/search?about=${name('anna')}&to=2001-01-01`),
        get(path`/rc/v1/audit/search?about=${name('anna')}&from=2099-01-31T00:00:00Z`),
      ),
      ...each(refused('invalid_value', '/from'), get('/rc/v1/audit/search?from=yesterday')),
      ...each(refused('invalid_value', '/to'), get('/rc/v1/audit/search?to=31.1.2030')),
      ...each(refused('invalid_value', '/after'), get('/rc/v1/audit/search?after=x')),
      ...each(refused('invalid_value', '/limit'), get('/rc/v1/audit/search?limit=0')),
    ],
  },
  {
    rule: 'REST-18',
    title: 'the audit trail is listed page by page',
    steps: (name) => [
      aUser(name('anna')),
      aUser(name('bob')),
      [get('/rc/v1/audit?limit=1'), json([{ ...FACT, id: keep('newest', FACT.id) }])],
      [
        get('/rc/v1/audit?limit=1&after={newest}'),
        json([{ ...FACT, id: new Matcher('an older one', (id, kept) => String(id) > (kept.get('newest') ?? '~')) }]),
      ],
      ...each(
        refused('invalid_value', '/after'),
        get('/rc/v1/audit?after=x'),
        get(`/rc/v1/audit?after=${'x'.repeat(5_000)}`),
      ),
      ...each(refused('invalid_value', '/limit'), get('/rc/v1/audit?limit=0')),
    ],
  },
];

const activity: readonly ConformanceCase[] = [
  {
    rule: 'ACTIVITY-1',
    title: 'what happens is streamed to whoever may read',
    steps: () => [
      [
        get('/rc/v1/activity?kind=push,pull'),
        events(new Matcher('ready', (text) => /^event: ready\ndata: \{"server":/.test(String(text)))),
      ],
      [get('/rc/v1/activity?kind=nap'), refused('invalid_value', '/kind')],
      [get('/rc/v1/activity?include=everything'), refused('invalid_value', '/include')],
      [get('/rc/v1/activity?recent=201'), refused('invalid_value', '/recent')],
      [withoutToken(get('/rc/v1/activity')), refused('token_missing')],
    ],
  },
  {
    rule: 'ACTIVITY-20',
    title: 'what happened within the last day is searched by user, source, kind and text',
    steps: (name) => [
      [post(push(name('Nothing'), 'push_objects'), { objects: {} }), refused('source_not_found')],
      [
        get(path`/rc/v1/activity/history?source_id=${name('Nothing')}&kind=refusal&failed=true&text=NOT_FOUND`),
        json({
          events: [
            {
              ...{ kind: 'refusal', at: MOMENT, server: FACT.address, request_id: REQUEST_ID, user_id: same('login') },
              ...{ client_id: null, source: name('Nothing'), method: 'POST', code: 'source_not_found', status: 404 },
              route: '/app/v1/:source_name/push_objects',
            },
          ],
          ...{ next: null, complete_from: MOMENT },
          left_out: new Matcher('a number', (value) => Number(value) >= 0),
        }),
      ],
      [get('/rc/v1/activity/history?kind=nap'), refused('invalid_value', '/kind')],
      [get('/rc/v1/activity/history?failed=maybe'), refused('invalid_value', '/failed')],
      [get('/rc/v1/activity/history?after=x'), refused('invalid_value', '/after')],
      ...each(
        refused('invalid_value', '/limit'),
        get('/rc/v1/activity/history?limit=0'),
        get('/rc/v1/activity/history?limit=1001'),
      ),
      [withoutToken(get('/rc/v1/activity/history')), refused('token_missing')],
    ],
  },
];

export const tokenCases = [...tokens, ...audit, ...activity];
