import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

it('[GROUP-85] a device that names groups and sources that cannot exist is answered as if they did not', async () => {
  const server = await startTestServer();
  onTestFinished(server.close);
  const send = async (method: string, path: string, token: string, body: object): Promise<unknown> => {
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${token}` };
    const response = await fetch(server.url + path, { method, headers, body: JSON.stringify(body) });
    return response.json();
  };
  const admin = (method: string, path: string, body: object) => send(method, path, server.token, body);
  await admin('POST', '/rc/v1/sources', { name: 'Visit', partition_type: 'group' });
  await admin('POST', '/rc/v1/users', { attributes: { login: 'ada', password: 'long enough' } });
  const login = { login: 'ada', password: 'long enough' };
  const { token, client_id } = (await send('POST', '/sync/v1/login', '', login)) as Record<string, string>;
  const pull = (asked: object, acknowledged: object = {}) =>
    send('POST', '/sync/v1/pull', token ?? '', { client_id, sources: { Visit: asked }, acknowledged });
  const nothing = { sources: { Visit: { groups: {}, more: false } }, outcomes: [] };
  for (const name of ['half \ud800', 'zero \u0000', '\u001fnorth', '', 'x'.repeat(3_000), 'toString']) {
    expect(await pull({ groups: {}, uploads: [name] })).toEqual(nothing);
    expect(await pull({ groups: {}, only: [name] })).toEqual(nothing);
    expect(await pull({ groups: {} }, { Visit: { [name]: ['op-1'] } })).toEqual(nothing);
    expect(await pull({ groups: {} }, { [name]: ['op-1'] })).toEqual(nothing);
    const gone = { groups: {}, gone: [name], more: false };
    expect(await pull({ groups: { [name]: {} } })).toEqual({ sources: { Visit: gone }, outcomes: [] });
  }
});
