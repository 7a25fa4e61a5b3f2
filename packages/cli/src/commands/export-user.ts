import type { AuditFact, Client, ClientSync, ObjectList, Receipt, Source, Token, User } from '@tidemark/protocol';
import { LIST_MAX, OBJECT_LIST_MAX, parseJson } from '@tidemark/protocol';
import { type ApiClient, listAll, path } from '../api-client.ts';

/** One line of the export. */
export interface ExportedFact {
  readonly kind: 'user' | 'groups' | 'device' | 'token' | 'object' | 'document' | 'receipt' | 'audit';
  readonly [field: string]: unknown;
}

/**
 * Yields everything that the server holds about one person, from the routes that anybody with the scope `admin` can call.
 * Objects of groups and of shared sources are not of one person, and are left out.
 */
export async function* factsAbout(api: ApiClient, login: string): AsyncGenerator<ExportedFact> {
  yield { kind: 'user', user: await api.get<User>(path`/rc/v1/users/${login}`) };
  const { groups } = await api.get<{ readonly groups: readonly string[] }>(path`/rc/v1/users/${login}/groups`);
  yield { kind: 'groups', groups };
  const devices = await api.get<readonly string[]>(path`/rc/v1/users/${login}/clients`);
  const sources = (await api.get<readonly Source[]>('/rc/v1/sources')).map(({ name, partition_type }) => ({
    name,
    isPersonal: partition_type === 'user',
  }));
  const names = sources.map(({ name }) => name);
  for (const id of devices) yield* factsOfDevice(api, id, names);
  for (const token of await listAll<Token>(api, '/rc/v1/tokens', ({ id }) => id)) {
    if (token.user === login) yield { kind: 'token', token };
  }
  for (const { name } of sources.filter(({ isPersonal }) => isPersonal)) yield* factsOfSource(api, login, name);
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
  for (let after: ObjectList['next'] = 0; after !== null; ) {
    const page: ObjectList = await api.get(`${base}/objects`, { limit: OBJECT_LIST_MAX, after });
    for (const object of page.objects) yield { kind: 'object', source, object };
    after = page.next;
  }
  yield* documentsBelow(api, base, { source });
  const query = { user_id: login, limit: LIST_MAX };
  yield { kind: 'receipt', receipt: await api.get<Receipt>(path`/rc/v1/sources/${source}/receipts`, query) };
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
