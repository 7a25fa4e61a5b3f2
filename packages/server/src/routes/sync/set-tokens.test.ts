import type { GroupPages, Page, PullAnswer } from '@tidemark/protocol';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

it('[GROUP-24] a device presents one token for all its groups over HTTP', async () => {
  const server = await startTestServer();
  onTestFinished(server.close);
  const send = async (method: string, path: string, token: string, body: object) => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
    expect(response.ok).toBe(true);
    return response.json() as Promise<unknown>;
  };
  const admin = (method: string, path: string, body: object) => send(method, path, server.token, body);
  await admin('POST', '/rc/v1/sources', { name: 'Visit', partition_type: 'group' });
  await admin('POST', '/rc/v1/users', { attributes: { login: 'ada', password: 'long enough' } });
  await admin('PUT', '/rc/v1/users/ada/groups', { groups: ['north', 'south'] });
  const push = (a: number) => admin('POST', '/app/v1/Visit/push_objects', { group: 'north', objects: { n: { a } } });
  await push(1);
  const login = { login: 'ada', password: 'long enough' };
  const { token, client_id } = (await send('POST', '/sync/v1/login', '', login)) as {
    token: string;
    client_id: string;
  };
  const pull = async (asked: object) => {
    const answer = (await send('POST', '/sync/v1/pull', token, { client_id, sources: { Visit: asked } })) as PullAnswer;
    return answer.sources.Visit as GroupPages;
  };
  const first = await pull({ groups: {}, set_token: null });
  const groups = Object.fromEntries(
    Object.entries(first.groups).map(([group, page]) => [group, { token: (page as Page).token }]),
  );
  expect(Object.keys(groups)).toEqual(['north', 'south']);
  const { set_token } = await pull({ groups, set_token: null });
  expect(set_token).toEqual(expect.any(String));
  expect(await pull({ set_token })).toEqual({ groups: {}, more: false });
  expect(await pull({ set_token })).toEqual({ groups: {}, more: false });
  await push(2);
  expect(await pull({ set_token })).toEqual({ groups: {}, changed: ['north'], more: true });
  const named = await pull({ set_token, groups: { north: groups.north } });
  expect(named).toMatchObject({ groups: { north: { patch: { n: { a: 2 } } } }, more: false });
  await admin('PUT', '/rc/v1/users/ada/groups', { groups: ['north'] });
  expect(await pull({ set_token })).toEqual({ groups: {}, set_token: null, more: true });
});
