import type { ServerUnderTest } from './conformance-case.ts';
import { segment } from './requests.ts';

const PAGE = 10_000;

/** Deletes the users, sources and tokens of this run. Server documents stay: no route deletes one. */
export async function cleanUp(server: ServerUnderTest): Promise<void> {
  const isOurs = (name: unknown) => typeof name === 'string' && name.startsWith(server.word);
  const users = (await call(server, 'GET', `/rc/v1/users?after=${server.word}&limit=${PAGE}`)) as readonly string[];
  for (const login of users.filter(isOurs)) await call(server, 'DELETE', `/rc/v1/users/${segment(login)}`);
  const sources = (await call(server, 'GET', '/rc/v1/sources')) as readonly { readonly name: string }[];
  for (const { name } of sources) if (isOurs(name)) await call(server, 'DELETE', `/rc/v1/sources/${segment(name)}`);
  const tokens = (await call(server, 'GET', '/rc/v1/tokens')) as readonly {
    readonly id: string;
    name: string | null;
  }[];
  for (const { id, name } of tokens) if (isOurs(name)) await call(server, 'DELETE', `/rc/v1/tokens/${id}`);
}

async function call(server: ServerUnderTest, method: string, path: string): Promise<unknown> {
  const headers = { 'x-sync-api-token': server.token, accept: 'application/json' };
  const answer = await server.send({ method, path, headers, body: null });
  if (answer.status !== 200) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
  return JSON.parse(answer.text);
}
