import { type ApiDocument, endpointsOf, type ServerProcess, startServerProcess } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TidemarkClient } from './tidemark-client.ts';

let server: ServerProcess;
let described: readonly string[];
let operationIds: ReadonlyMap<string, string>;

beforeAll(async () => {
  server = await startServerProcess();
  const document = (await (await fetch(`${server.url}/openapi.json`)).json()) as ApiDocument;
  const endpoints = endpointsOf(document).filter(({ template }) => /^\/(?:rc|app)\/v1\//.test(template));
  described = endpoints.map(({ method, template }) => `${method} ${template}`);
  operationIds = new Map(
    endpoints.map(({ method, template, operation }) => [`${method} ${template}`, operation.operationId ?? '']),
  );
});

afterAll(() => server.stop());

/** The specification gives this route in four ways, which are one. */
const OTHER_SPELLINGS = [
  'PUT /rc/v1/read_state/users/{user_id}/sources/{source_id}',
  'POST /rc/v1/readstate/users/{user_id}/sources/{source_id}',
  'PUT /rc/v1/readstate/users/{user_id}/sources/{source_id}',
];

const shared = { source: '{source_id}', user: '{user_id}' };
const ofGroup = { source: '{source_id}', group: '{group}' };
const ofDevice = { source: '{source_id}', client: '{client_id}' };

/** Every method of the client, called with the names of the parameters in their places. */
const CALLS: Readonly<Record<string, (client: TidemarkClient) => unknown>> = {
  'system.logIn': ({ system }) => system.logIn({ login: 'x', password: 'y' }),
  'system.license': ({ system }) => system.license(),
  'system.settings': ({ system }) => system.settings(),
  'system.reset': ({ system }) => system.reset(),
  'system.appserver': ({ system }) => system.appserver(),
  'system.backendSecret': ({ system }) => system.backendSecret(),
  'system.setAppserver': ({ system }) => system.setAppserver(null),
  'system.checkAppserver': ({ system }) => system.checkAppserver(),
  'system.appserverFailures': ({ system }) => system.appserverFailures(),
  'system.metricNames': ({ system }) => system.metricNames(),
  'system.metric': ({ system }) => system.metric('users'),
  'backups.list': ({ backups }) => backups.list(),
  'backups.create': ({ backups }) => backups.create(),
  'backups.download': ({ backups }) => backups.download('{backup}'),
  'backups.verify': ({ backups }) => backups.verify('{backup}'),
  'backups.delete': ({ backups }) => backups.delete('{backup}'),
  'backups.prune': ({ backups }) => backups.prune(1),
  'connectors.list': ({ connectors }) => connectors.list(),
  'connectors.get': ({ connectors }) => connectors.get('{connector}'),
  'connectors.report': ({ connectors }) => connectors.report('{connector}', {} as never),
  'connectors.check': ({ connectors }) => connectors.check('{connector}'),
  'connectors.delete': ({ connectors }) => connectors.delete('{connector}'),
  'users.create': ({ users }) => users.create({ login: 'x', password: 'y' }),
  'users.list': ({ users }) => users.list(),
  'users.every': ({ users }) => users.every().next(),
  'users.details': ({ users }) => users.details(),
  'users.get': ({ users }) => users.get('{user_id}'),
  'users.update': ({ users }) => users.update('{user_id}', {}),
  'users.delete': ({ users }) => users.delete('{user_id}'),
  'users.invite': ({ users }) => users.invite('{user_id}'),
  'users.clients': ({ users }) => users.clients('{user_id}'),
  'users.deleteClient': ({ users }) => users.deleteClient('{user_id}', '{client_id}'),
  'users.ping': ({ users }) => users.ping({ user_id: 'x' }),
  'groups.list': ({ groups }) => groups.list(),
  'groups.details': ({ groups }) => groups.details(),
  'groups.every': ({ groups }) => groups.every().next(),
  'groups.members': ({ groups }) => groups.members('{group}'),
  'groups.everyMember': ({ groups }) => groups.everyMember('{group}').next(),
  'groups.setMembers': ({ groups }) => groups.setMembers('{group}', []),
  'groups.of': ({ groups }) => groups.of('{user_id}'),
  'groups.set': ({ groups }) => groups.set('{user_id}', []),
  'groups.add': ({ groups }) => groups.add('{user_id}', []),
  'groups.remove': ({ groups }) => groups.remove('{user_id}', '{group}'),
  'sources.list': ({ sources }) => sources.list(),
  'sources.listByType': ({ sources }) => sources.listByType('{partition_type}' as 'app'),
  'sources.get': ({ sources }) => sources.get('{source_id}'),
  'sources.declare': ({ sources }) => sources.declare({ name: 'x' }),
  'sources.update': ({ sources }) => sources.update('{source_id}', {}),
  'sources.drop': ({ sources }) => sources.drop('{source_id}'),
  'sources.schema': ({ sources }) => sources.schema('{source_id}'),
  'sources.setSchema': ({ sources }) => sources.setSchema('{source_id}', {}),
  'sources.diffSchema': ({ sources }) => sources.diffSchema('{source_id}', {}),
  'sources.inferSchema': ({ sources }) => sources.inferSchema('{source_id}'),
  'sources.schemaReport': ({ sources }) => sources.schemaReport('{source_id}'),
  'sources.receipts': ({ sources }) => sources.receipts('{source_id}'),
  'sources.refresh': ({ sources }) => sources.refresh('{source_id}', '{user_id}'),
  'clients.list': ({ clients }) => clients.list(),
  'clients.names': ({ clients }) => clients.names(['x']),
  'clients.setLabel': ({ clients }) => clients.setLabel('{client_id}', 'x'),
  'clients.endSessions': ({ clients }) => clients.endSessions('{client_id}'),
  'clients.get': ({ clients }) => clients.get('{client_id}'),
  'clients.wipe': ({ clients }) => clients.wipe('{client_id}'),
  'clients.files': ({ clients }) => clients.files('{client_id}'),
  'clients.sync': ({ clients }) => clients.sync('{client_id}'),
  'clients.pending': ({ clients }) => clients.pending('{client_id}', '{source_id}'),
  'clients.explain': ({ clients }) => clients.explain('{client_id}', '{source_id}', '{object_id}'),
  'documents.names': ({ documents }) =>
    Promise.all([
      documents.names('server'),
      documents.names(shared),
      documents.names(ofGroup),
      documents.names(ofDevice),
    ]),
  'documents.objects': ({ documents }) => Promise.all([documents.objects(shared), documents.objects(ofGroup)]),
  'documents.read': ({ documents }) =>
    Promise.all([
      documents.read('server', '{doc}'),
      documents.read(shared, '{doc}'),
      documents.read(ofGroup, '{doc}'),
      documents.read(ofDevice, '{doc}'),
    ]),
  'documents.readObjects': ({ documents }) => documents.readObjects(shared, '{doc}').next(),
  'documents.readText': ({ documents }) => documents.readText(shared, '{doc}'),
  'documents.objectsText': ({ documents }) => documents.objectsText(shared),
  'documents.writeText': ({ documents }) => documents.writeText(shared, '{doc}', '""'),
  'documents.write': ({ documents }) =>
    Promise.all([
      documents.write('server', '{doc}', ''),
      documents.write(shared, '{doc}', ''),
      documents.write(ofGroup, '{doc}', ''),
      documents.write(ofDevice, '{doc}', ''),
    ]),
  'files.put': ({ files }) => files.put('{sha256}', new Uint8Array()),
  'files.add': ({ files }) => files.add(new Uint8Array()),
  'files.download': ({ files }) => files.download('{sha256}'),
  'files.list': ({ files }) => files.list(),
  'files.every': ({ files }) => files.every().next(),
  'files.usage': ({ files }) => files.usage(),
  'files.facts': ({ files }) => files.facts('{sha256}'),
  'files.where': ({ files }) => files.where('{sha256}'),
  'files.everyUse': ({ files }) => files.everyUse('{sha256}').next(),
  'files.verify': ({ files }) => files.verify('{sha256}'),
  'push.move': ({ push }) => push.move('{source_name}', [], { from: 'a', to: 'b' }),
  'push.text': ({ push }) => push.text('{source_name}', 'push_objects', '{}'),
  'push.objects': ({ push }) => push.objects('{source_name}', {}),
  'push.partitions': ({ push }) => push.partitions('{source_name}', []),
  'push.deletes': ({ push }) => push.deletes('{source_name}', []),
  'push.fastInsert': ({ push }) => push.fastInsert('{source_name}', {}),
  'push.fastUpdate': ({ push }) => push.fastUpdate('{source_name}', { previous: {}, next: {} }),
  'push.fastDelete': ({ push }) => push.fastDelete('{source_name}', {}),
  'tokens.list': ({ tokens }) => tokens.list(),
  'tokens.details': ({ tokens }) => tokens.details(),
  'tokens.every': ({ tokens }) => tokens.every().next(),
  'tokens.create': ({ tokens }) => tokens.create({ name: 'x', scopes: ['push'] }),
  'tokens.revoke': ({ tokens }) => tokens.revoke('{token_id}'),
  'audit.list': ({ audit }) => audit.list(),
  'audit.search': ({ audit }) => audit.search(),
  'audit.every': ({ audit }) => audit.every().next(),
  'activity.history': ({ activity }) => activity.history(),
  'activity.watch': ({ activity }) => activity.watch().next(),
  'system.webPushKey': ({ system }) => system.webPushKey(),
  'pings.list': ({ pings }) => pings.list(),
  'pings.every': ({ pings }) => pings.every().next(),
  'pings.get': ({ pings }) => pings.get('{ping_id}'),
  'jobs.queues': ({ jobs }) => jobs.queues(),
  'jobs.queue': ({ jobs }) => jobs.queue('{queue}'),
  'jobs.inspect': ({ jobs }) => jobs.inspect('{queue}'),
  'jobs.get': ({ jobs }) => jobs.get('{queue}', '{job_id}'),
  'jobs.retry': ({ jobs }) => jobs.retry('{queue}', '{job_id}'),
  'jobs.remove': ({ jobs }) => jobs.remove('{queue}', '{job_id}'),
  'jobs.pause': ({ jobs }) => jobs.pause('{queue}'),
  'session.signIn': ({ session }) => session.signIn({ login: 'x', password: 'y' }),
  'session.provider': ({ session }) => session.provider(),
  'session.begin': ({ session }) => session.begin(),
  'session.get': ({ session }) => session.get(),
  'session.signOut': ({ session }) => session.signOut(),
  'jobs.resume': ({ jobs }) => jobs.resume('{queue}'),
};

const LISTED = /\/files(\/\{sha256\}\/objects)?$/;
const NO_FILES = { files: [], objects: [], next: null };

/** What a client sends, and where; the answers are of no use to anybody. */
function listening(): { readonly client: TidemarkClient; readonly sent: Set<string> } {
  const sent = new Set<string>();
  const client = new TidemarkClient({
    url: 'http://127.0.0.1:1',
    platform: {
      fetch: async (url, { method }) => {
        const path = decodeURIComponent(new URL(url).pathname);
        sent.add(`${method} ${path}`);
        return Response.json(path.endsWith('/{doc}') ? {} : LISTED.test(path) ? NO_FILES : []);
      },
    },
  });
  return { client, sent };
}

function methodsOf(client: TidemarkClient): readonly string[] {
  return Object.entries(client).flatMap(([group, calls]: [string, object]) =>
    Object.getOwnPropertyNames(Object.getPrototypeOf(calls))
      .filter((name) => name !== 'constructor')
      .map((name) => `${group}.${name}`),
  );
}

it('[BSDK-1] every push and admin route of the server has a method, and every method a route', async () => {
  const { client, sent } = listening();
  expect(Object.keys(CALLS).sort()).toEqual([...methodsOf(client)].sort());
  for (const call of Object.values(CALLS)) await call(client);
  expect(described.length).toBeGreaterThan(40);
  expect([...sent, ...OTHER_SPELLINGS].sort()).toEqual([...described].sort());
});

it('[BSDK-1] no method goes a way of its own: each reaches a route that is described', async () => {
  for (const [name, call] of Object.entries(CALLS)) {
    const { client, sent } = listening();
    await call(client);
    expect({ name, strangers: [...sent].filter((route) => !described.includes(route)) }).toEqual({
      name,
      strangers: [],
    });
  }
});

/** Methods that share the operation of another one: pages one by one, texts, and two questions that one route answers. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'system.metricNames': 'systemStats',
  'system.metric': 'systemStats',
  'users.every': 'usersList',
  'files.every': 'filesList',
  'files.everyUse': 'filesWhere',
  'groups.every': 'groupsList',
  'groups.everyMember': 'groupsMembers',
  'tokens.every': 'tokensList',
  'audit.every': 'auditList',
  'pings.every': 'pingsList',
  'documents.readObjects': 'documentsRead',
  'documents.readText': 'documentsRead',
  'documents.objectsText': 'documentsObjects',
  'documents.writeText': 'documentsWrite',
  'push.text': 'pushObjects',
};

it('[BSDK-1] the operationId of a route is the name of its method, and of documents also whose they are', async () => {
  for (const [name, call] of Object.entries(CALLS)) {
    const { client, sent } = listening();
    await call(client);
    const [group = '', method = ''] = name.split('.');
    const capital = method.charAt(0).toUpperCase() + method.slice(1);
    const wanted = OTHER_NAMES[name] ?? `${group}${capital}`;
    const others = [...sent]
      .map((route) => operationIds.get(route) ?? route)
      .filter((id) => id.replace(/Of(?:Server|User|Group|Client)$/, '') !== wanted);
    expect({ name, others }).toEqual({ name, others: [] });
  }
});
