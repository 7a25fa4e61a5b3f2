import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { SourceAttributes } from '@tidemark/protocol';
import { temporaryFolder } from '@tidemark/testing';
import { type Outcome, runInProcess } from '@tidemark/testing/server';
import { afterAll, describe, expect, it } from 'vitest';
import { tokenIdOf } from './credentials.ts';

/** A value for every attribute a source has: one that is added must get an option of the command line, too. */
const EVERY_ATTRIBUTE: SourceAttributes = {
  name: 'P',
  partition_type: 'user',
  adapter: 'backend',
  poll_interval: 60,
  sync_type: 'incremental',
  queue: 'q',
  query_queue: 'r',
  cud_queue: 's',
  conflicts: 'detect',
  read_only: false,
  filling: true,
  push_notify: true,
  references: { order: 'Order', part: 'Part' },
};

const TOKEN = 'tmk_0123456789';

// Tests run side by side here, so what they leave behind is cleared away together.
const leftovers: (() => unknown)[] = [];

afterAll(async () => {
  for (const clear of leftovers) await clear();
});

interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A text is sent as text, anything else as JSON. */
  readonly body?: unknown;
}

interface Seen {
  readonly call: string;
  readonly body: unknown;
  readonly token: string | undefined;
}

interface FakeServer {
  readonly url: string;
  readonly seen: Seen[];
}

/** A server that gives the scripted answers, by method and URL; whatever else is asked for is a problem of the test. */
async function fakeServer(answers: Readonly<Record<string, Answer>>): Promise<FakeServer> {
  const seen: Seen[] = [];
  const server = createServer(async (request, response) => {
    const call = `${request.method} ${request.url}`;
    seen.push({ call, body: await bodyOf(request), token: request.headers['x-sync-api-token'] as string | undefined });
    const { status = 200, headers = {}, body = {} } = answers[call] ?? { status: 599, body: `no answer to ${call}` };
    const isText = typeof body === 'string';
    response.writeHead(status, { 'content-type': isText ? 'text/plain' : 'application/json', ...headers });
    response.end(isText ? body : JSON.stringify(body));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  leftovers.push(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const body = await text(request);
  return body === '' ? undefined : JSON.parse(body);
}

interface Surroundings {
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
  readonly folder?: string;
}

function runCli(args: readonly string[], { env = {}, input = '', folder }: Surroundings = {}): Promise<Outcome> {
  return runInProcess(args, { env: { HOME: '/nonexistent', ...env }, folder: folder ?? process.cwd(), input });
}

/** One command against one scripted answer. */
async function speak(args: readonly string[], call: string, answer: Answer, surroundings: Surroundings = {}) {
  const server = await fakeServer({ [call]: answer });
  const env = { TIDEMARK_URL: server.url, TIDEMARK_TOKEN: TOKEN, ...surroundings.env };
  const outcome = await runCli(args, { ...surroundings, env });
  return { ...outcome, seen: server.seen, url: server.url };
}

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  leftovers.push(folder.remove);
  return folder.path;
}

const USER = { login: 'ada', attributes: { team: 'north' }, clients: 2, created_at: 'T1', updated_at: 'T2' };
const REPORT = { source: 'Order', user_id: 'ada', changed: 1, unchanged: 0, seq: 7 };
const DOC = { doc: 'motd', type: 'text', size: 5 };
const SOURCE = { name: 'Order', poll_interval: -1, partition_type: 'user', sync_type: 'incremental', adapter: 'none' };

const SCHEMA = { properties: { title: { type: 'string' } } };
const SCHEMA_STATE = { source: 'Order', mode: 'enforce', version: 2, oldest_version: 1, converting: false };
const SCHEMA_VIEW = { ...SCHEMA_STATE, schema: SCHEMA, steps: [[{ step: 'remove', attribute: 'a' }]], set_at: 'T' };
const SCHEMA_LINES =
  'source          Order\nmode            enforce\nversion         2\noldest_version  1\nconverting      false\nset_at          T\n';

interface Row {
  readonly args: readonly string[];
  readonly call: string;
  readonly body?: unknown;
  readonly answer: unknown;
  readonly out: string;
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const REPORT_LINES = 'source     Order\nuser_id    ada\nchanged    1\nunchanged  0\nseq        7\n';
const DOC_LINES = 'doc   motd\ntype  text\nsize  5\n';

const HAND_CHANGE = {
  ...{ id: 'a', at: 'T', actor: 'ada', action: 'objects.change', target: '/x', result: 'ok', address: '::1', count: 1 },
  ...{ subject: { source: 'Product', object_id: '=1' }, objects_changed: 1, are_changes_cut: false },
  changes: [{ object_id: '=1', attribute: 'price', old: '1', new: '2' }],
};

const ROWS: readonly Row[] = [
  {
    args: ['users', 'list'],
    call: 'GET /rc/v1/user_details?limit=1000',
    answer: { users: [], total: 0, examined: 0, next: null },
    out: '',
  },
  {
    args: ['users', 'show', 'a/d a?'],
    call: 'GET /rc/v1/users/a%2Fd%20a%3F',
    answer: USER,
    out: 'login       ada\nattributes  {"team":"north"}\nclients     2\ncreated_at  T1\nupdated_at  T2\n',
  },
  {
    args: ['users', 'create', 'ada', '--attribute', 'team=north', 'level=3', 'on=true', 'zip=00420', '--json'],
    call: 'POST /rc/v1/users',
    body: { attributes: { team: 'north', level: 3, on: true, zip: '00420', login: 'ada', password: 'open sesame' } },
    answer: USER,
    out: `${JSON.stringify(USER, null, 2)}\n`,
    env: { TIDEMARK_NEW_PASSWORD: 'open sesame', TIDEMARK_PASSWORD: 'of the administrator' },
  },
  {
    args: ['users', 'set', 'ada', '--attributes', '-', '--attribute', 'b=2'],
    call: 'PUT /rc/v1/users/ada',
    body: { attributes: { a: [1], b: 2 } },
    answer: { login: 'ada' },
    out: 'login  ada\n',
    input: '{"a":[1],"b":1}',
  },
  {
    args: ['users', 'set', 'ada', '--password-stdin'],
    call: 'PUT /rc/v1/users/ada',
    body: { attributes: { password: 'new one' } },
    answer: { login: 'ada' },
    out: 'login  ada\n',
    input: 'new one\n',
  },
  {
    args: ['users', 'delete', 'ada', '--yes'],
    call: 'DELETE /rc/v1/users/ada',
    answer: { deleted: 'ada' },
    out: 'deleted  ada\n',
  },
  {
    args: ['schema', 'show', 'Order'],
    call: 'GET /rc/v1/sources/Order/schema',
    answer: SCHEMA_VIEW,
    out: `${SCHEMA_LINES}${JSON.stringify(SCHEMA, null, 2)}\nSteps from version 1 to 2: [{"step":"remove","attribute":"a"}]\n`,
  },
  {
    args: ['schema', 'set', 'Order', '--mode', 'enforce', '--oldest-version', '2', '--force'],
    call: 'PUT /rc/v1/sources/Order/schema',
    body: { schema: SCHEMA, mode: 'enforce', oldest_version: 2, force: true },
    answer: SCHEMA_VIEW,
    out: SCHEMA_LINES,
    input: JSON.stringify(SCHEMA),
  },
  {
    args: ['schema', 'diff', 'Order', '-'],
    call: 'POST /rc/v1/sources/Order/schema/diff',
    body: { schema: SCHEMA },
    answer: {
      source: 'Order',
      kind: 'additive',
      reasons: [],
      version: 3,
      devices: { 1: 4 },
      devices_without_version: 0,
    },
    out: 'source                   Order\nkind                     additive\nreasons\nversion                  3\ndevices                  {"1":4}\ndevices_without_version  0\n',
    input: JSON.stringify(SCHEMA),
  },
  {
    args: ['schema', 'infer', 'Order', '--samples', '-', '--json'],
    call: 'POST /rc/v1/sources/Order/schema/infer',
    body: { samples: { a: { title: 'x' } } },
    answer: { source: 'Order', schema: SCHEMA, objects: 1, support: {} },
    out: `${JSON.stringify({ source: 'Order', schema: SCHEMA, objects: 1, support: {} }, null, 2)}\n`,
    input: '{"a":{"title":"x"}}',
  },
  {
    args: ['schema', 'mode', 'Order', 'enforce'],
    call: 'PUT /rc/v1/sources/Order/schema',
    body: { mode: 'enforce' },
    answer: SCHEMA_VIEW,
    out: SCHEMA_LINES,
  },
  {
    args: ['schema', 'oldest-version', 'Order', '2'],
    call: 'PUT /rc/v1/sources/Order/schema',
    body: { oldest_version: 2 },
    answer: SCHEMA_VIEW,
    out: SCHEMA_LINES,
  },
  {
    args: ['schema', 'report', 'Order'],
    call: 'GET /rc/v1/sources/Order/schema/report',
    answer: {
      ...{ source: 'Order', mode: 'report', version: 2, objects: 1 },
      samples: [{ object: 'a', attribute: 'title', detail: '"title" must be a text', at: 'T' }],
    },
    out: 'source   Order\nmode     report\nversion  2\nobjects  1\nOBJECT  ATTRIBUTE  DETAIL                  AT\na       title      "title" must be a text  T\n',
  },
  { args: ['users', 'clients', 'ada'], call: 'GET /rc/v1/users/ada/clients', answer: ['c1'], out: 'c1\n' },
  {
    args: ['users', 'list', '--behind', '--group', 'n s', '--limit', '5'],
    call: 'GET /rc/v1/user_details?limit=5&group=n+s&behind=true',
    answer: { users: [{ login: 'ada', devices: 2, groups: ['n', 's'], behind: 1 }], next: null },
    out: 'LOGIN  DEVICES  ONLINE  BEHIND  LAST_SEEN  CREATED_AT  GROUPS\nada    2        -       1       -          -           n, s\n',
  },
  {
    args: ['clients', 'list', '--not-seen-days', '7', '--app-version-below', '2.4'],
    call: 'GET /rc/v1/clients?limit=1000&not_seen_days=7&app_version_below=2.4',
    answer: {
      clients: [
        {
          ...{ client_id: 'c1', user_id: 'ada', label: null, device_name: 'Till', device_platform: 'web' },
          ...{ device_app_id: 'Field', device_app_version: '2.3', online: false, behind: 3, last_contact: 'T' },
        },
      ],
      next: null,
    },
    out:
      'CLIENT_ID  USER_ID  NAME  PLATFORM  APP        ONLINE  BEHIND  LAST_CONTACT\n' +
      'c1         ada      Till  web       Field 2.3  false   3       T\n',
  },
  {
    args: ['clients', 'label', 'c1', 'Van 7'],
    call: 'PUT /rc/v1/clients/c1',
    body: { label: 'Van 7' },
    answer: { client_id: 'c1', label: 'Van 7', device_pin: null },
    out: 'client_id  c1\nlabel      Van 7\n',
  },
  {
    args: ['clients', 'end-sessions', 'c1', '--yes'],
    call: 'DELETE /rc/v1/clients/c1/sessions',
    answer: { client_id: 'c1', ended: 2 },
    out: 'client_id  c1\nended      2\n',
  },
  {
    args: ['clients', 'show', 'c1'],
    call: 'GET /rc/v1/clients/c1',
    answer: { client_id: 'c1', device_pin: null },
    out: 'client_id   c1\ndevice_pin  -\n',
  },
  {
    args: ['clients', 'sync', 'c1'],
    call: 'GET /rc/v1/clients/c1/sync',
    answer: { online: true, sources: [{ source: 'P', acknowledged: 2, head: 3, waiting: 1, last_pull: 'T' }] },
    out: 'online  true\nSOURCE  ACKNOWLEDGED  HEAD  WAITING  LAST_PULL\nP       2             3     1        T\n',
  },
  {
    args: ['clients', 'delete', 'c1', '--user', 'ada', '--yes'],
    call: 'DELETE /rc/v1/users/ada/clients/c1',
    answer: { deleted: 'c1' },
    out: 'deleted  c1\n',
  },
  {
    args: ['clients', 'wipe', 'c1', '--yes'],
    call: 'POST /rc/v1/clients/c1/wipe',
    body: {},
    answer: { ordered_at: 'T1', confirmed_at: null },
    out: 'ordered_at    T1\nconfirmed_at  -\n',
  },
  {
    args: ['sources', 'list'],
    call: 'GET /rc/v1/sources',
    answer: [SOURCE],
    out:
      'NAME   PARTITION_TYPE  SYNC_TYPE    POLL_INTERVAL  ADAPTER  CONFIGURED\n' +
      'Order  user            incremental  -1             none     -\n',
  },
  { args: ['sources', 'list', '--type', 'app'], call: 'GET /rc/v1/sources/type/app', answer: ['P'], out: 'P\n' },
  { args: ['sources', 'show', 'P'], call: 'GET /rc/v1/sources/P', answer: { name: 'P' }, out: 'name  P\n' },
  {
    args: ['sources', 'declare', 'P', '--partition-type', 'app', '--adapter', 'backend', '--poll-interval', '-1'],
    call: 'POST /rc/v1/sources',
    body: { name: 'P', partition_type: 'app', adapter: 'backend', poll_interval: -1 },
    answer: { name: 'P' },
    out: 'name  P\n',
  },
  {
    args: ['sources', 'set', 'P', '--queue', '', '--sync-type', 'bulk_only', '--user-name', 'eve'],
    call: 'PUT /rc/v1/sources/P',
    body: { data: { queue: null, sync_type: 'bulk_only' }, user_name: 'eve' },
    answer: { name: 'P' },
    out: 'name  P\n',
  },
  {
    args: [
      ...['sources', 'declare', 'P', '--partition-type', 'user', '--adapter', 'backend', '--poll-interval', '60'],
      ...['--sync-type', 'incremental', '--queue', 'q', '--query-queue', 'r', '--cud-queue', 's'],
      ...['--conflicts', 'detect', '--read-only', 'false', '--filling', 'true', '--push-notify', 'true'],
      ...['--reference', 'order=Order', 'part=Part'],
    ],
    call: 'POST /rc/v1/sources',
    body: EVERY_ATTRIBUTE,
    answer: { name: 'P' },
    out: 'name  P\n',
  },
  {
    args: ['sources', 'set', 'P', '--read-only', 'true', '--reference', ''],
    call: 'PUT /rc/v1/sources/P',
    body: { data: { read_only: true, references: {} } },
    answer: { name: 'P' },
    out: 'name  P\n',
  },
  {
    args: ['sources', 'drop', 'P', '--yes'],
    call: 'DELETE /rc/v1/sources/P',
    answer: { deleted: 'P' },
    out: 'deleted  P\n',
  },
  { args: ['docs', 'get', 'motd'], call: 'GET /rc/v1/store/motd', answer: 'hello', out: 'hello' },
  {
    args: ['docs', 'get', 'md', '--source', 'Order', '--user', 'ada'],
    call: 'GET /rc/v1/users/ada/sources/Order/docs/md',
    answer: { 1: { n: 2 } },
    out: '{"1":{"n":2}}\n',
  },
  { args: ['docs', 'list'], call: 'GET /rc/v1/store', answer: ['motd', 'x'], out: 'motd\nx\n' },
  {
    args: ['docs', 'list', '--source', 'P', '--shared'],
    call: 'GET /rc/v1/users/*/sources/P/docnames',
    answer: ['md', 'x'],
    out: 'md\nx\n',
  },
  {
    args: ['docs', 'list', '--source', 'P', '--client', 'c1'],
    call: 'GET /rc/v1/clients/c1/sources/P/docnames',
    answer: ['cd'],
    out: 'cd\n',
  },
  {
    args: ['docs', 'set', 'motd', '--text'],
    call: 'POST /rc/v1/store/motd',
    body: { data: '{"not": json}\n', append: false },
    answer: DOC,
    out: DOC_LINES,
    input: '{"not": json}\n',
  },
  {
    args: ['docs', 'append', 'md', '-', '--source', 'P', '--shared'],
    call: 'POST /rc/v1/users/*/sources/P/docs/md',
    body: { data: { 1: { n: 2 } }, append: true },
    answer: DOC,
    out: DOC_LINES,
    input: ' {"1":{"n":2}}\n',
  },
  {
    args: ['docs', 'set', 'x', '--source', 'P', '--client', 'c1'],
    call: 'POST /rc/v1/clients/c1/sources/P/docs/x',
    body: { data: 'text', append: false },
    answer: DOC,
    out: DOC_LINES,
    input: '"text"',
  },
  {
    args: ['push', 'objects', 'Order', '--user', 'ada', '--no-rebuild-md'],
    call: 'POST /app/v1/Order/push_objects',
    body: { user_id: 'ada', rebuild_md: false, objects: { 1: { name: 'Compass' } } },
    answer: REPORT,
    out: REPORT_LINES,
    input: '{"1":{"name":"Compass"}}',
  },
  {
    args: ['push', 'deletes', 'Order', '-', '--user', 'ada'],
    call: 'POST /app/v1/Order/push_deletes',
    body: { user_id: 'ada', objects: ['1'] },
    answer: REPORT,
    out: REPORT_LINES,
    input: '["1"]',
  },
  {
    args: ['push', 'fast-insert', 'Product'],
    call: 'POST /app/v1/Product/fast_insert',
    body: { objects: { 1: { a: 1 } } },
    answer: REPORT,
    out: REPORT_LINES,
    input: '{"1":{"a":1}}',
  },
  {
    args: ['push', 'fast-update', 'Product'],
    call: 'POST /app/v1/Product/fast_update',
    body: { delete_data: { 1: { a: 1 } }, data: { 1: { a: 2 } } },
    answer: REPORT,
    out: REPORT_LINES,
    input: '{"delete_data":{"1":{"a":1}},"data":{"1":{"a":2}}}',
  },
  {
    args: ['push', 'fast-delete', 'Product'],
    call: 'POST /app/v1/Product/fast_delete',
    body: { data: { 1: { a: 1 } } },
    answer: REPORT,
    out: REPORT_LINES,
    input: '{"1":{"a":1}}',
  },
  {
    args: ['ping', 'ada', 'bob', '--source', 'A', 'B', '--message', 'hi', '--badge', '3', '--vibrate', '2'],
    call: 'POST /rc/v1/users/ping',
    body: { user_id: ['ada', 'bob'], sources: ['A', 'B'], message: 'hi', badge: 3, vibrate: 2 },
    answer: { ping_id: 'p', users: 2, devices: 1, skipped: [], unknown_users: ['bob'] },
    out: 'ping_id        p\nusers          2\ndevices        1\nskipped\nunknown_users  bob\n',
  },
  {
    args: ['read-state', 'Order', 'ada', '--in', '60'],
    call: 'POST /rc/v1/read_state/users/ada/sources/Order',
    body: { refresh_time: 60 },
    answer: { refresh_at: 'T' },
    out: 'refresh_at  T\n',
  },
  {
    args: ['stats', 'names', 'sources:*:P'],
    call: 'GET /rc/v1/system/stats?names=sources%3A*%3AP',
    answer: ['sources:query:P'],
    out: 'sources:query:P\n',
  },
  {
    args: ['stats', 'read', 'users', '--start', '-2', '--finish', '-1'],
    call: 'GET /rc/v1/system/stats?metric=users&start=-2&finish=-1',
    answer: [{ at: 0, count: 1, sum: 2, min: 2, max: 2 }],
    out: 'AT                        COUNT  SUM  MIN  MAX\n1970-01-01T00:00:00.000Z  1      2    2    2\n',
  },
  {
    args: ['tokens', 'list', '--user', 'bob'],
    call: 'GET /rc/v1/tokens?limit=1000',
    answer: [
      { id: '1', user: 'ada', name: null, scopes: ['admin'], client: null, created_at: 'T', expires_at: null },
      { id: '2', user: 'bob', name: 'x', scopes: ['read', 'push'], client: null, created_at: 'T', expires_at: null },
    ],
    out: 'ID  USER  NAME  SCOPES      CLIENT  CREATED_AT  EXPIRES_AT\n2   bob   x     read, push  -       T           -\n',
  },
  {
    args: ['tokens', 'list', '--named'],
    call: 'GET /rc/v1/tokens?limit=1000',
    answer: [
      { id: '1', user: 'ada', name: null, scopes: ['admin'], client: null, created_at: 'T', expires_at: null },
      { id: '2', user: 'ada', name: 'x', scopes: ['push'], client: null, created_at: 'T', expires_at: null },
    ],
    out: 'ID  USER  NAME  SCOPES  CLIENT  CREATED_AT  EXPIRES_AT\n2   ada   x     push    -       T           -\n',
  },
  {
    args: ['tokens', 'create', '--name', 'backend', '--scope', 'push', 'read', '--expires', '2030-01-01T00:00:00Z'],
    call: 'POST /rc/v1/tokens',
    body: { name: 'backend', scopes: ['push', 'read'], expires_at: '2030-01-01T00:00:00Z' },
    answer: { token: 'tmk_new', id: '0a', user: 'admin' },
    out: 'tmk_new\n',
  },
  {
    args: ['tokens', 'revoke', '0a', '--yes'],
    call: 'DELETE /rc/v1/tokens/0a',
    answer: { revoked: '0a' },
    out: 'revoked  0a\n',
  },
  {
    args: ['license'],
    call: 'GET /rc/v1/system/license',
    answer: { license: 'Apache-2.0', seats: null },
    out: 'license  Apache-2.0\nseats    -\n',
  },
  {
    args: ['settings'],
    call: 'GET /rc/v1/system/settings',
    answer: [{ name: 'port', value: 8080, origin: 'TIDEMARK_PORT', kind: 'environment', warning: null }],
    out: 'NAME  VALUE  ORIGIN\nport  8080   TIDEMARK_PORT\n',
  },
  {
    args: ['appserver', 'get'],
    call: 'GET /rc/v1/system/appserver',
    answer: { adapter_url: null },
    out: 'adapter_url  -\n',
  },
  {
    args: ['appserver', 'set', 'http://127.0.0.1:8080'],
    call: 'POST /rc/v1/system/appserver',
    body: { adapter_url: 'http://127.0.0.1:8080' },
    answer: { adapter_url: 'http://127.0.0.1:8080' },
    out: 'adapter_url  http://127.0.0.1:8080\n',
  },
  {
    args: ['appserver', 'set', '--none', '--json'],
    call: 'POST /rc/v1/system/appserver',
    body: { adapter_url: null },
    answer: { adapter_url: null },
    out: '{\n  "adapter_url": null\n}\n',
  },
  {
    args: ['users', 'set', 'root', '--password', '--revoke-tokens', '--json'],
    env: { TIDEMARK_NEW_PASSWORD: 'a new one' },
    call: 'PUT /rc/v1/users/root',
    body: { attributes: { password: 'a new one' }, revoke_tokens: true },
    answer: { login: 'root' },
    out: '{\n  "login": "root"\n}\n',
  },
  {
    args: ['appserver', 'check', '--user', 'ada'],
    call: 'POST /rc/v1/system/appserver/check',
    body: { user_id: 'ada' },
    answer: { checks: [{ name: 'reachable', status: 'ok', detail: 'http://127.0.0.1:8080 answers' }] },
    out: 'ok       reachable: http://127.0.0.1:8080 answers\n',
  },
  {
    args: ['appserver', 'failures'],
    call: 'GET /rc/v1/system/appserver/failures',
    answer: {
      failures: [{ at: 'T', call: 'query', source: 'Part', user_id: null, status: 503, reason: 'r', detail: 'd' }],
    },
    out: 'AT  CALL   SOURCE  USER_ID  STATUS  REASON  DETAIL\nT   query  Part    -        503     r       d\n',
  },
  {
    args: ['audit', '--actor', 'ada', '--action', 'objects.', '--from', '2030-01-31', '--limit', '1', '--after', 'z'],
    call: 'GET /rc/v1/audit/search?after=z&limit=1&actor=ada&action=objects.&from=2030-01-31',
    answer: { facts: [HAND_CHANGE], next: 'a' },
    out: 'AT  ACTOR  ACTION          ABOUT         RESULT  CHANGES          ADDRESS  ID\nT   ada    objects.change  Product · =1  ok      =1.price: 1 → 2  ::1      a\n',
  },
  {
    args: ['audit', '--csv'],
    call: 'GET /rc/v1/audit/search?limit=100',
    answer: { facts: [HAND_CHANGE], next: null },
    out: "at,actor,action,result,count,user_id,client_id,source,group,object_id,name,changes,address,target,id\r\nT,ada,objects.change,ok,1,,,Product,,'=1,,'=1.price: 1 → 2,::1,/x,a\r\n",
  },
  {
    args: ['audit', '--json-lines'],
    call: 'GET /rc/v1/audit/search?limit=100',
    answer: { facts: [HAND_CHANGE], next: null },
    out: `${JSON.stringify(HAND_CHANGE)}\n`,
  },
  {
    args: ['reset', '--yes'],
    call: 'POST /rc/v1/system/reset',
    body: {},
    answer: { epoch: 'e2' },
    out: 'epoch  e2\n',
  },
];

describe.concurrent('commands that speak to a server', () => {
  it.each(ROWS.map((row) => [row.args.join(' '), row] as const))('[CLI-1] %s', async (_, row) => {
    const { args, call, body, answer, out, input, env } = row;
    const surroundings = { ...(input === undefined ? {} : { input }), ...(env === undefined ? {} : { env }) };
    const result = await speak(args, call, { body: answer }, surroundings);
    expect(result.seen).toEqual([{ call, body, token: TOKEN }]);
    expect({ code: result.code, out: result.out, err: result.err }).toEqual({ code: 0, out, err: expect.any(String) });
    if (!args.includes('create')) expect(result.err).toBe('');
  });

  it('[SCHEMA-21] `schema infer` prints the schema alone, and how many values support it beside it', async () => {
    const answer = { source: 'Order', schema: SCHEMA, objects: 3, support: { '/properties/title/type': 3 } };
    const call = 'POST /rc/v1/sources/Order/schema/infer';
    const { code, out, err } = await speak(['schema', 'infer', 'Order'], call, { body: answer });
    expect({ code, out, err }).toEqual({
      ...{ code: 0, out: `${JSON.stringify(SCHEMA, null, 2)}\n` },
      err: 'Made from 3 objects.\n/properties/title/type: 3\n',
    });
  });

  it('[SCHEMA-21] `schema infer` fails and prints no schema where there are no objects', async () => {
    const answer = { source: 'Order', schema: { properties: {} }, objects: 0, support: {} };
    const { code, out, err } = await speak(['schema', 'infer', 'Order'], 'POST /rc/v1/sources/Order/schema/infer', {
      body: answer,
    });
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err: 'tidemark: Order has no objects to make a schema from\n  hint: push some, name others with --samples, or write the schema by hand\n',
    });
  });

  it('[SCHEMA-21] `schema set` of a breaking schema says how to go on, as `schema diff` does', async () => {
    const call = 'PUT /rc/v1/sources/Order/schema';
    const problem = { status: 409, code: 'schema_breaking', detail: 'it breaks older apps', request_id: 'r1' };
    const refused = await speak(['schema', 'set', 'Order'], call, { status: 409, body: problem }, { input: '{}' });
    const hint =
      'name the steps from the old schema to the new one with --steps, keep what is missing as deprecated, or break older apps with schema set --force';
    expect([refused.code, refused.err]).toEqual([
      1,
      `tidemark: it breaks older apps (schema_breaking)\n  hint: ${hint}\n  request: r1\n`,
    ]);
  });

  it('[SCHEMA-21] `schema diff` fails if the schema breaks apps, and `schema mode` refuses an unknown mode', async () => {
    const diff = { source: 'Order', kind: 'breaking', reasons: ['"a" is missing'], version: 2, devices: {} };
    const call = 'POST /rc/v1/sources/Order/schema/diff';
    const input = JSON.stringify(SCHEMA);
    const broken = await speak(['schema', 'diff', 'Order'], call, { body: diff }, { input });
    expect([broken.code, broken.out.includes('breaking')]).toEqual([1, true]);
    expect(broken.err).toContain('the schema breaks apps that use Order\n  "a" is missing\n');
    const unknown = await speak(['schema', 'mode', 'Order', 'strict'], 'PUT /rc/v1/sources/Order/schema', {});
    expect([unknown.code, unknown.err, unknown.seen]).toEqual([
      2,
      'tidemark: the mode must be one of off, report, enforce, not strict\n',
      [],
    ]);
  });

  it('[CLI-1] numbers in a file keep all their digits', async () => {
    const folder = await newFolder();
    const raw: string[] = [];
    const server = createServer(async (request, response) => {
      raw.push(await text(request));
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    leftovers.push(() => void server.close());
    const env = { TIDEMARK_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, TIDEMARK_TOKEN: TOKEN };
    const input = '{"1":{"n":0.1234567890123456789,"m":12345678901234567890}}';
    await runCli(['push', 'objects', 'P'], { env, input, folder });
    expect(raw).toEqual([`{"objects":${input}}`]);
  });
});

describe.concurrent('data and talk', () => {
  it('[CLI-34] `tail` prints a line for each event, says how many were left out, and ends after --count events', async () => {
    const event = { kind: 'push', at: '2030-01-31T12:00:01.204Z', server: 's', request_id: 'r1', user_id: 'ada' };
    const push = {
      ...event,
      client_id: null,
      source: 'Order',
      operation: 'push_objects',
      changed: 2,
      unchanged: 0,
      seq: 7,
    };
    const refresh = {
      ...event,
      kind: 'refresh',
      request_id: null,
      client_id: null,
      source: 'Order',
      duration_ms: 12,
      code: null,
    };
    const sent = [
      ['ready', {}],
      ['activity', push],
      ['dropped', { count: 3 }],
      ['activity', refresh],
    ] as const;
    const body = sent.map(([name, data]) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`).join('');
    const headers = { 'content-type': 'text/event-stream' };
    const call = 'GET /rc/v1/activity?user_id=ada&kind=push%2Crefresh&recent=10';
    const args = ['tail', '--user', 'ada', '--kind', 'push', 'refresh', '--count', '2'];
    const result = await speak(args, call, { body, headers });
    expect(result.out.split('\n')).toEqual([
      '12:00:01.204  push     Order  user ada  push_objects: 2 changed, 0 unchanged, seq 7  (r1)',
      '12:00:01.204  refresh  Order  user ada  refreshed after 12 ms',
      '',
    ]);
    expect([result.code, result.err]).toEqual([0, '3 events were left out\n']);
    const json = await speak([...args, '--json'], call, { body, headers });
    expect(
      json.out
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toEqual([push, refresh]);
    const closed = await speak(['tail'], 'GET /rc/v1/activity?recent=10', { body: '', headers });
    expect(closed.code).not.toBe(0);
  });

  it('[ACTIVITY-26] `tail --past` prints what happened, since when it is kept, and how many failures are missing', async () => {
    const event = {
      ...{ kind: 'refusal', at: '2030-01-31T12:00:00.000Z', server: 's', request_id: 'r', user_id: 'ada' },
      ...{
        client_id: null,
        source: 'Part',
        method: 'POST',
        route: '/sync/v1/push',
        status: 413,
        code: 'quota_exceeded',
      },
    };
    const args = ['tail', '--past', '--failed', '--user', 'ada', '--text', 'quota', '--count', '1'];
    const call = 'GET /rc/v1/activity/history?user_id=ada&failed=true&text=quota&limit=1';
    const body = { next: 'n', complete_from: 'C', left_out: 2, events: [event] };
    const { code, out, err } = await speak(args, call, { body });
    expect({ code, out, err }).toEqual({
      code: 0,
      out: '2030-01-31 12:00:00.000  refusal  Part  user ada  POST /sync/v1/push: 413 quota_exceeded  (r)\n',
      err: 'kept since C; 2 failures were left out\n',
    });
  });

  it('[CLI-2] `--json` prints documents as the server sends them, also texts', async () => {
    const answer = { body: 'hello', headers: { 'content-type': 'application/json' } };
    const { out } = await speak(['docs', 'get', 'motd', '--json'], 'GET /rc/v1/store/motd', {
      ...answer,
      body: '"hello"',
    });
    expect(out).toBe('"hello"\n');
  });

  it('[CLI-2] control characters from a server do not reach the terminal', async () => {
    const name = 'a\u001b[31m\u202eb\nc';
    const { out } = await speak(['groups', 'list'], 'GET /rc/v1/groups?limit=1000', { body: [name] });
    expect(out).toBe('a\\u001b[31m\\u202eb\\u000ac\n');
    const json = await speak(['groups', 'list', '--json'], 'GET /rc/v1/groups?limit=1000', { body: [name] });
    expect(JSON.parse(json.out)).toEqual([name]);
  });

  it('[CLI-2] options of the program stand before or after the command', async () => {
    const server = await fakeServer({ 'GET /rc/v1/groups?limit=1000': { body: [] } });
    const env = { TIDEMARK_TOKEN: TOKEN };
    expect(await runCli(['--url', server.url, 'groups', 'list', '--json'], { env })).toMatchObject({
      code: 0,
      out: '[]\n',
    });
    expect(await runCli(['groups', 'list', `--url=${server.url}/`], { env })).toMatchObject({ code: 0, out: '' });
    expect(server.seen).toHaveLength(2);
  });

  it('[CLI-2] a listing of several pages is printed whole', async () => {
    const first = Array.from({ length: 1_000 }, (_, index) => `u${String(index).padStart(5, '0')}`);
    const server = await fakeServer({
      'GET /rc/v1/groups?limit=1000': { body: first },
      'GET /rc/v1/groups?after=u00999&limit=1000': { body: ['zoe'] },
    });
    const { out } = await runCli(['groups', 'list'], { env: { TIDEMARK_URL: server.url, TIDEMARK_TOKEN: TOKEN } });
    expect(out.split('\n')).toHaveLength(1_002);
  });

  it('[CLI-50] a listing with filters reads on, also after an empty page, until it has the rows that were asked for', async () => {
    const row = (login: string) => ({ login, devices: 1, online: 0, behind: 2, groups: [] });
    const page = (query: string) => `GET /rc/v1/user_details?${query}&behind=true`;
    const server = await fakeServer({
      [page('limit=2')]: { body: { users: [], next: 'a' } },
      [page('after=a&limit=2')]: { body: { users: [row('bob')], next: 'bob' } },
      [page('after=bob&limit=1')]: { body: { users: [row('cleo')], next: 'cleo' } },
    });
    const env = { TIDEMARK_URL: server.url, TIDEMARK_TOKEN: TOKEN };
    const { out } = await runCli(['users', 'list', '--behind', '--limit', '2', '--json'], { env });
    expect({ rows: JSON.parse(out), calls: server.seen.length }).toEqual({ rows: [row('bob'), row('cleo')], calls: 3 });
  });
});

describe.concurrent('refusals', () => {
  const PROBLEM = {
    title: 'No such user',
    status: 404,
    detail: 'there is no user "anna"',
    code: 'user_not_found',
    hint: 'create the user first',
    request_id: 'r-1',
    errors: [{ pointer: '/attributes', detail: 'is odd' }],
  };
  const show = ['users', 'show', 'anna'];
  const call = 'GET /rc/v1/users/anna';

  it('[CLI-3] a refusal is printed with detail, code, places, hint and request id', async () => {
    const { code, out, err } = await speak(show, call, { status: 404, body: PROBLEM });
    expect({ code, out, err }).toEqual({
      code: 1,
      out: '',
      err:
        'tidemark: there is no user "anna" (user_not_found)\n  /attributes: is odd\n' +
        '  hint: create the user first\n  request: r-1\n',
    });
  });

  it('[CLI-3] with `--json` a refusal is printed as JSON', async () => {
    const { code, err } = await speak([...show, '--json'], call, { status: 404, body: PROBLEM });
    expect({ code, ...JSON.parse(err) }).toEqual({
      code: 1,
      error: {
        message: 'there is no user "anna"',
        code: 'user_not_found',
        hint: 'create the user first',
        request_id: 'r-1',
        places: ['/attributes: is odd'],
        exit_code: 1,
      },
    });
  });

  it.each([
    [401, 77],
    [403, 77],
    [409, 1],
    [422, 1],
    [429, 1],
    [500, 1],
    [502, 69],
    [503, 69],
    [504, 69],
  ])('[CLI-4] status %i ends with %i, also without a body', async (status, code) => {
    const result = await speak(show, call, {
      status,
      body: '',
      headers: { 'x-request-id': 'r-2', 'retry-after': '7' },
    });
    expect(result).toMatchObject({ code, out: '' });
    expect(result.err).toMatch(
      new RegExp(`^tidemark: the server answered ${status} .*\n(  hint: .*\n)?  request: r-2\n$`),
    );
  });

  it('[CLI-4] the exit code is 69 when no server answers, or not in time', async () => {
    const env = { TIDEMARK_TOKEN: TOKEN };
    const nobody = await runCli([...show, '--url', 'http://127.0.0.1:1'], { env });
    expect(nobody.code).toBe(69);
    expect(nobody.err).toMatch(
      /^tidemark: no server answers at http:\/\/127\.0\.0\.1:1 \(.+\)\n {2}hint: start one with/,
    );
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    leftovers.push(() => {
      silent.closeAllConnections();
      silent.close();
    });
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    const late = await runCli([...show, '--url', url, '--timeout', '0.2'], { env });
    expect(late).toMatchObject({ code: 69, err: expect.stringContaining('has not answered within 0.2 s') });
  });

  it('[CLI-4] a redirect is not followed, because it would send the token elsewhere', async () => {
    const elsewhere = await fakeServer({});
    const headers = { location: `${elsewhere.url}/rc/v1/users/anna` };
    const result = await speak(show, call, { status: 307, headers, body: '' });
    expect(result).toMatchObject({ code: 1, err: expect.stringContaining('use it as url (--url)') });
    expect(elsewhere.seen).toEqual([]);
  });

  it('[CLI-4] an answer that is not JSON is reported as such', async () => {
    const { code, err } = await speak(show, call, { body: '<html>' });
    expect({ code, err }).toEqual({
      code: 1,
      err: 'tidemark: the answer is not JSON; is this a Tidemark server? (unexpected_answer)\n',
    });
  });
});

describe.concurrent('usage', () => {
  it.each([
    [['users', 'lst'], /unknown command 'lst'[\s\S]*Did you mean list/],
    [['user'], /Did you mean users/],
    [['users'], /Examples:/],
    [['users', 'show'], /missing required argument 'login'/],
    [['users', 'list', '--jsn'], /Did you mean --json/],
    [['users', 'show', '..'], /cannot be part of a URL/],
    [['users', 'set', 'ada'], /nothing to set/],
    [['users', 'set', 'ada', '--attribute', 'x'], /not of the form name=value/],
    [['users', 'create', 'ada'], /nobody to ask for the password[\s\S]*--password-stdin/],
    [['users', 'create', 'ada', '--password-stdin', '--attributes', '-'], /cannot be both/],
    [['users', 'list', '--url', 'ftp://x'], /is not the URL of a server/],
    [['users', 'list', '--url', 'http://u:geheim@x'], /must not carry a login or password/],
    [['users', 'list', '--timeout', 'soon'], /--timeout must be a number/],
    [['docs', 'list', '--shared'], /need a --source/],
    [['docs', 'get', 'x', '--user', 'ada'], /need a --source/],
    [['docs', 'get', 'x', '--source', 'P'], /needs one of --user, --group, --shared and --client/],
    [['docs', 'get', 'x', '--source', 'P', '--user', 'a', '--shared'], /needs one of/],
    [['docs', 'set', 'x', 'gone.json'], /gone.json cannot be read \(ENOENT\)/],
    [['push', 'objects', 'P'], /the standard input is not JSON/],
    [['push', 'fast-update', 'P', '-'], /the standard input is not JSON/],
    [['appserver', 'set'], /either a URL or --none/],
    [['tokens', 'create', '--name', 'x'], /required option '--scope/],
    [['tokens', 'create', '--name', 'x', '--scope', 'read', '--expires', 'soon'], /neither a time/],
    [['read-state', 'P', 'ada', '--in', 'x'], /must be a whole number/],
  ])('[CLI-5] %j is refused with 2', async (args, message) => {
    const env = { TIDEMARK_TOKEN: TOKEN, TIDEMARK_URL: 'http://127.0.0.1:1' };
    const { code, out, err } = await runCli(args, { env });
    expect({ code, out }).toEqual({ code: 2, out: '' });
    expect(err).toMatch(message);
    expect(err).not.toContain('geheim');
  });

  it.each([
    ['reset', []],
    ['users', ['delete', 'ada']],
    ['clients', ['delete', 'c1', '--user', 'ada']],
    ['clients', ['wipe', 'c1']],
    ['clients', ['end-sessions', 'c1']],
    ['sources', ['drop', 'P']],
    ['tokens', ['revoke', '0a']],
  ])('[CLI-6] %s does nothing irreversible where nobody can be asked', async (name, rest) => {
    const server = await fakeServer({});
    const env = { TIDEMARK_TOKEN: TOKEN, TIDEMARK_URL: server.url };
    const { code, err } = await runCli([name, ...rest], { env });
    expect({ code, seen: server.seen }).toEqual({ code: 2, seen: [] });
    expect(err).toContain('confirm with --yes');
  });
});

describe.concurrent('logging in', () => {
  const LOGIN = 'POST /rc/v1/system/login';
  const kept = (folder: string) => join(folder, 'tidemark', 'credentials.json');

  async function logIn(answers: Readonly<Record<string, Answer>> = {}) {
    const folder = await newFolder();
    const body = { token: TOKEN, user: 'boss', expires_at: '2030-01-01T00:00:00.000Z' };
    const server = await fakeServer({ [LOGIN]: { body }, ...answers });
    const env = { XDG_CONFIG_HOME: folder, TIDEMARK_URL: server.url };
    const outcome = await runCli(['login', 'boss', '--password-stdin'], { env, input: 'open sesame\n' });
    return { folder, server, env, outcome };
  }

  it('[CLI-7] login stores the token in a file only its owner can read, and later commands use it', async () => {
    const { folder, server, env, outcome } = await logIn({ 'GET /rc/v1/groups?limit=1000': { body: ['ada'] } });
    const err = `Logged in to ${server.url} as boss until 2030-01-01T00:00:00.000Z.\n`;
    expect(outcome).toEqual({ code: 0, out: '', err });
    expect(server.seen).toEqual([{ call: LOGIN, body: { login: 'boss', password: 'open sesame' }, token: undefined }]);
    expect(statSync(kept(folder)).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(kept(folder), 'utf8'))).toEqual({
      [server.url]: { login: 'boss', token: TOKEN, expires_at: '2030-01-01T00:00:00.000Z' },
    });
    expect(await runCli(['groups', 'list'], { env })).toMatchObject({ code: 0, out: 'ada\n' });
    expect(server.seen.at(-1)?.token).toBe(TOKEN);
    const other = await runCli(['groups', 'list', '--url', 'http://127.0.0.1:1'], { env });
    expect(other).toMatchObject({ code: 77, err: expect.stringContaining('there is no token for http://127.0.0.1:1') });
  });

  it('[CLI-7] a wrong password ends login with 77, and nothing is stored', async () => {
    const problem = { detail: 'login or password is wrong', code: 'invalid_credentials' };
    const { folder, outcome } = await logIn({ [LOGIN]: { status: 401, body: problem } });
    expect(outcome.code).toBe(77);
    expect(outcome.err).toContain('tidemark: login or password is wrong (invalid_credentials)');
    expect(outcome.err).not.toContain('sesame');
    expect(existsSync(kept(folder))).toBe(false);
  });

  it('[CLI-7] logout revokes the token and deletes it', async () => {
    const revoke = `DELETE /rc/v1/tokens/${tokenIdOf(TOKEN)}`;
    const { folder, server, env } = await logIn({ [revoke]: { body: { revoked: tokenIdOf(TOKEN) } } });
    expect(await runCli(['logout'], { env })).toEqual({ code: 0, out: '', err: `Logged out of ${server.url}.\n` });
    expect(server.seen.at(-1)).toEqual({ call: revoke, body: undefined, token: TOKEN });
    expect(JSON.parse(readFileSync(kept(folder), 'utf8'))).toEqual({});
    expect(await runCli(['logout'], { env })).toEqual({
      code: 0,
      out: '',
      err: `There is no token for ${server.url}.\n`,
    });
  });

  it('[CLI-7] logout deletes a token that cannot be revoked, and says so', async () => {
    const revoke = `DELETE /rc/v1/tokens/${tokenIdOf(TOKEN)}`;
    const { folder, env } = await logIn({ [revoke]: { status: 503, body: { detail: 'busy' } } });
    const { code, err } = await runCli(['logout'], { env });
    expect(code).toBe(69);
    expect(err).toContain('forgotten here but not revoked');
    expect(JSON.parse(readFileSync(kept(folder), 'utf8'))).toEqual({});
  });

  it('[CLI-7] whoami shows whose token is used', async () => {
    const mine = { id: tokenIdOf(TOKEN), user: 'boss', name: null, scopes: ['admin'], expires_at: 'T' };
    const list = 'GET /rc/v1/tokens?limit=1000';
    const { server, env, folder } = await logIn({ [list]: { body: [{ id: '0', user: 'x' }, mine] } });
    const { out } = await runCli(['whoami', '--json'], { env });
    const { user, name, scopes, expires_at } = mine;
    expect(JSON.parse(out)).toEqual({ url: server.url, user, name, scopes, expires_at, from: kept(folder) });
    const push = await speak(['whoami'], list, { status: 403, body: { code: 'forbidden', detail: 'no' } });
    expect(push).toMatchObject({
      code: 0,
      out: expect.stringMatching(/scopes +not admin\n.*\nfrom +TIDEMARK_TOKEN\n$/),
    });
    const bad = await speak(['whoami'], list, { status: 401, body: { code: 'token_invalid', detail: 'no' } });
    expect(bad).toMatchObject({ code: 77, err: expect.stringContaining('log in with tidemark login --url') });
  });
});
