import type { SourceDocumentOwner, TidemarkClient } from '@tidemark/backend';
import type { ActivityHistoryPage, AuditFact, ObjectList, PingWithResults, Source } from '@tidemark/protocol';
import { LIST_MAX, OBJECT_LIST_MAX } from '@tidemark/protocol';
import { given } from '../api-client.ts';
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
  api: TidemarkClient,
  login: string,
  { hasGroups }: ExportOptions,
): AsyncGenerator<ExportedFact> {
  yield { kind: 'user', user: await api.users.get(login) };
  const { groups } = await api.groups.of(login);
  yield { kind: 'groups', groups };
  const devices = await api.users.clients(login);
  const sources = await api.sources.list();
  const namesOf = (type: Source['partition_type']) =>
    sources.filter(({ partition_type }) => partition_type === type).map(({ name }) => name);
  const names = sources.map(({ name }) => name);
  for (const id of devices) yield* factsOfDevice(api, id, names);
  for await (const token of api.tokens.every()) {
    if (token.user === login) yield { kind: 'token', token };
  }
  for (const name of namesOf('user')) yield* factsOfSource(api, login, name);
  for (const group of hasGroups ? groups : []) {
    for (const source of namesOf('group')) {
      for await (const object of objectsOf(api, { source, group }))
        yield { kind: 'group_object', group, source, object };
    }
  }
  if (devices.length > 0) yield* pingsOf(api, devices);
  yield* activityOf(api, { user: login });
  // Refusals of a token that is no longer known name only the device.
  for (const id of devices) yield* activityOf(api, { client: id }, ({ user_id }) => user_id !== login);
  yield* auditOf(api, login, devices);
}

async function* factsOfDevice(
  api: TidemarkClient,
  id: string,
  sources: readonly string[],
): AsyncGenerator<ExportedFact> {
  yield { kind: 'device', device: await api.clients.get(id), sync: await api.clients.sync(id) };
  for (const source of sources) yield* documentsOf(api, { source, client: id }, { device: id, source });
}

async function* factsOfSource(api: TidemarkClient, login: string, source: string): AsyncGenerator<ExportedFact> {
  const owner = { source, user: login };
  for await (const object of objectsOf(api, owner)) yield { kind: 'object', source, object };
  yield* documentsOf(api, owner, { source });
  yield { kind: 'receipt', receipt: await api.sources.receipts(source, { user: login, limit: LIST_MAX }) };
}

type ObjectsOwner = Exclude<SourceDocumentOwner, { readonly client: string }>;

async function* objectsOf(api: TidemarkClient, owner: ObjectsOwner): AsyncGenerator<ObjectList['objects'][number]> {
  for (let after: ObjectList['next'] = 0; after !== null; ) {
    const page: ObjectList = await api.documents.objects(owner, { limit: OBJECT_LIST_MAX, after });
    yield* page.objects;
    after = page.next;
  }
}

/** Yields the results of pings on the devices. Results are kept by ping, so those of all devices are read. */
async function* pingsOf(api: TidemarkClient, devices: readonly string[]): AsyncGenerator<ExportedFact> {
  for await (const { ping_id, at, sources } of api.pings.every()) {
    for (let after: string | undefined, isLast = false; !isLast; ) {
      const { results }: PingWithResults = await api.pings.get(ping_id, { limit: LIST_MAX, ...given({ after }) });
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
  api: TidemarkClient,
  of: { readonly user: string } | { readonly client: string },
  isWanted: (event: ActivityEvent) => boolean = () => true,
): AsyncGenerator<ExportedFact> {
  for (let after: string | null | undefined; after !== null; ) {
    const query = { ...of, limit: PAGE_EVENTS, ...given({ after }) };
    const page: ActivityHistoryPage = await api.activity.history(query);
    for (const event of page.events.filter(isWanted)) yield { kind: 'activity', event };
    after = page.next;
  }
}

/** Documents that show the objects of a source, which are exported one by one. */
const OBJECTS = new Set(['md', 'cd']);

async function* documentsOf(api: TidemarkClient, owner: SourceDocumentOwner, of: object): AsyncGenerator<ExportedFact> {
  for (const name of await api.documents.names(owner)) {
    if (OBJECTS.has(name)) continue;
    yield { kind: 'document', ...of, name, content: await api.documents.read(owner, name) };
  }
}

/** Yields the audit entries that the person caused, or that are about the person or a device of theirs. */
async function* auditOf(api: TidemarkClient, login: string, devices: readonly string[]): AsyncGenerator<ExportedFact> {
  const paths = [
    `/rc/v1/users/${encodeURIComponent(login)}`,
    ...devices.map((id) => `/rc/v1/clients/${encodeURIComponent(id)}`),
  ];
  const isAbout = ({ target, subject }: AuditFact) =>
    subject?.user_id === login ||
    devices.some((id) => id === subject?.client_id) ||
    paths.some((one) => target === one || target?.startsWith(`${one}/`) === true);
  for await (const fact of api.audit.every()) {
    if (fact.actor === login || isAbout(fact)) yield { kind: 'audit', fact };
  }
}
