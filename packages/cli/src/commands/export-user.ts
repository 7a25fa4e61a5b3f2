import type {
  ActivityHistoryPage,
  AuditFact,
  Client,
  ClientSync,
  ObjectList,
  Ping,
  PingWithResults,
  Receipt,
  Source,
  Token,
  User,
} from '@tidemark/protocol';
import { LIST_MAX, OBJECT_LIST_MAX, parseJson } from '@tidemark/protocol';
import { type ApiClient, listAll, path } from '../api-client.ts';
import { PAGE_EVENTS } from './tail.ts';

/** One line of the export. */
export interface ExportedFact {
  readonly kind:
    | 'user'
    | 'groups'
    | 'device'
    | 'token'
    | 'object'
    | 'group_object'
    | 'document'
    | 'receipt'
    | 'ping'
    | 'activity'
    | 'audit';
  readonly [field: string]: unknown;
}

export interface ExportOptions {
  /** True: the objects of the groups of the person as well, which are about others, too. */
  readonly hasGroups: boolean;
}

/**
 * Yields everything that the server holds about one person, from the routes that anybody with the scope `admin` can call.
 * Objects of shared sources are not of one person, and are left out.
 */
export async function* factsAbout(
  api: ApiClient,
  login: string,
  { hasGroups }: ExportOptions,
): AsyncGenerator<ExportedFact> {
  yield { kind: 'user', user: await api.get<User>(path`/rc/v1/users/${login}`) };
  const { groups } = await api.get<{ readonly groups: readonly string[] }>(path`/rc/v1/users/${login}/groups`);
  yield { kind: 'groups', groups };
  const devices = await api.get<readonly string[]>(path`/rc/v1/users/${login}/clients`);
  const sources = await api.get<readonly Source[]>('/rc/v1/sources');
  const namesOf = (type: Source['partition_type']) =>
    sources.filter(({ partition_type }) => partition_type === type).map(({ name }) => name);
  const names = sources.map(({ name }) => name);
  for (const id of devices) yield* factsOfDevice(api, id, names);
  for (const token of await listAll<Token>(api, '/rc/v1/tokens', ({ id }) => id)) {
    if (token.user === login) yield { kind: 'token', token };
  }
  for (const name of namesOf('user')) yield* factsOfSource(api, login, name);
  for (const group of hasGroups ? groups : []) {
    for (const source of namesOf('group')) {
      const base = path`/rc/v1/groups/${group}/sources/${source}`;
      for await (const object of objectsBelow(api, base)) yield { kind: 'group_object', group, source, object };
    }
  }
  if (devices.length > 0) yield* pingsOf(api, devices);
  yield* activityOf(api, { user_id: login });
  // Refusals of a token that is no longer known name only the device.
  for (const id of devices) yield* activityOf(api, { client_id: id }, ({ user_id }) => user_id !== login);
  yield* auditOf(api, login, devices);
}

async function* factsOfDevice(api: ApiClient, id: string, sources: readonly string[]): AsyncGenerator<ExportedFact> {
  const [device, sync] = [path`/rc/v1/clients/${id}`, path`/rc/v1/clients/${id}/sync`];
  yield { kind: 'device', device: await api.get<Client>(device), sync: await api.get<ClientSync>(sync) };
  for (const source of sources) {
    const base = path`/rc/v1/clients/${id}/sources/${source}`;
    yield* documentsBelow(api, base, { device: id, source });
  }
}

async function* factsOfSource(api: ApiClient, login: string, source: string): AsyncGenerator<ExportedFact> {
  const base = path`/rc/v1/users/${login}/sources/${source}`;
  for await (const object of objectsBelow(api, base)) yield { kind: 'object', source, object };
  yield* documentsBelow(api, base, { source });
  const query = { user_id: login, limit: LIST_MAX };
  yield { kind: 'receipt', receipt: await api.get<Receipt>(path`/rc/v1/sources/${source}/receipts`, query) };
}

async function* objectsBelow(api: ApiClient, base: string): AsyncGenerator<ObjectList['objects'][number]> {
  for (let after: ObjectList['next'] = 0; after !== null; ) {
    const page: ObjectList = await api.get(`${base}/objects`, { limit: OBJECT_LIST_MAX, after });
    yield* page.objects;
    after = page.next;
  }
}

/** Yields the results of pings on the devices. Results are kept by ping, so those of all devices are read. */
async function* pingsOf(api: ApiClient, devices: readonly string[]): AsyncGenerator<ExportedFact> {
  for (const { ping_id, at, sources } of await listAll<Ping>(api, '/rc/v1/pings', (ping) => ping.ping_id)) {
    for (let after: string | undefined, isLast = false; !isLast; ) {
      const query = { limit: LIST_MAX, ...(after === undefined ? {} : { after }) };
      const { results }: PingWithResults = await api.get(path`/rc/v1/pings/${ping_id}`, query);
      for (const result of results) {
        if (devices.includes(result.client_id)) yield { kind: 'ping', ping: { ping_id, at, sources }, result };
      }
      after = results.at(-1)?.client_id;
      isLast = results.length < LIST_MAX;
    }
  }
}

type ActivityEvent = ActivityHistoryPage['events'][number];

/** Yields what the server has recorded of the last day. */
async function* activityOf(
  api: ApiClient,
  of: { readonly user_id: string } | { readonly client_id: string },
  isWanted: (event: ActivityEvent) => boolean = () => true,
): AsyncGenerator<ExportedFact> {
  for (let after: string | null | undefined; after !== null; ) {
    const query = { ...of, limit: PAGE_EVENTS, ...(after === undefined ? {} : { after }) };
    const page: ActivityHistoryPage = await api.get('/rc/v1/activity/history', query);
    for (const event of page.events.filter(isWanted)) yield { kind: 'activity', event };
    after = page.next;
  }
}

/** Documents that show the objects of a source, which are exported one by one. */
const OBJECTS = new Set(['md', 'cd']);

async function* documentsBelow(api: ApiClient, base: string, of: object): AsyncGenerator<ExportedFact> {
  for (const name of await api.get<readonly string[]>(`${base}/docnames`)) {
    if (OBJECTS.has(name)) continue;
    const { text } = await api.call('GET', base + path`/docs/${name}`, { accept: 'application/json' });
    yield { kind: 'document', ...of, name, content: parseJson(text) };
  }
}

/** Yields the audit entries that the person caused, or that are about the person or a device of theirs. */
async function* auditOf(api: ApiClient, login: string, devices: readonly string[]): AsyncGenerator<ExportedFact> {
  const paths = [path`/rc/v1/users/${login}`, ...devices.map((id) => path`/rc/v1/clients/${id}`)];
  const isAbout = ({ target, subject }: AuditFact) =>
    subject?.user_id === login ||
    devices.some((id) => id === subject?.client_id) ||
    paths.some((one) => target === one || target?.startsWith(`${one}/`) === true);
  for (const fact of await listAll<AuditFact>(api, '/rc/v1/audit', ({ id }) => id)) {
    if (fact.actor === login || isAbout(fact)) yield { kind: 'audit', fact };
  }
}
