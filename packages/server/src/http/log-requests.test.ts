import { ADMIN_PASSWORD, startTestServer } from '@tidemark/testing/server';
import { afterEach, describe, expect, it } from 'vitest';
import type { RequestLogRules } from '../config/config.ts';
import { openLog } from '../logging/open-log.ts';

type Line = Readonly<Record<string, unknown>>;

let close = async () => {};
afterEach(() => close());

async function startLogged(requestLog: RequestLogRules) {
  const chunks: string[] = [];
  const log = openLog({ level: 'info', format: 'json', stream: { write: (text) => chunks.push(text) } });
  const server = await startTestServer({ requestLog }, log);
  close = server.close;
  const text = () => chunks.join('');
  const lines = () => chunks.map((line) => JSON.parse(line) as Line).filter(({ event }) => event === 'request');
  const call = (path: string, init: RequestInit = {}) =>
    fetch(server.url + path, { ...init, headers: { 'x-sync-api-token': server.token, ...init.headers } });
  return { server, text, lines, call };
}

const EVERYTHING: RequestLogRules = { isComplete: true, slowMs: 600_000 };

describe('logged requests', () => {
  it('[LOG-5] a line has id, method, route, status, duration, bytes, user and token id, and no body, query or secret', async () => {
    const { server, text, lines, call } = await startLogged(EVERYTHING);
    const body = JSON.stringify({ attributes: { login: 'ada', password: 'sea-lion-7788', colour: 'ultramarine' } });
    const answer = await call('/rc/v1/users?secret_word=periwinkle', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
    });
    expect(answer.status).toBe(200);
    await expect.poll(lines).toHaveLength(2);
    expect(lines()[1]).toEqual({
      level: 'info',
      time: expect.any(String),
      event: 'request',
      request_id: answer.headers.get('x-request-id'),
      method: 'POST',
      route: '/rc/v1/users',
      path: null,
      status: 200,
      aborted: false,
      code: null,
      duration_ms: expect.any(Number),
      bytes_in: body.length,
      bytes_out: expect.any(Number),
      user_id: 'admin',
      client_id: null,
      token_id: expect.any(String),
    });
    expect(lines()[1]?.bytes_out).toBeGreaterThan((await answer.text()).length);
    for (const secret of [ADMIN_PASSWORD, server.token, 'sea-lion', 'ultramarine', 'periwinkle']) {
      expect(text()).not.toContain(secret);
    }
  });

  it('[LOG-7] the request id of an error answer leads to its log line and its audit entry', async () => {
    const { lines, call } = await startLogged(EVERYTHING);
    const refused = await call('/rc/v1/users/nobody', { method: 'DELETE' });
    const { request_id } = (await refused.json()) as Line;
    await expect.poll(lines).toHaveLength(2);
    expect(lines()[1]).toMatchObject({
      request_id,
      status: 404,
      code: 'user_not_found',
      route: '/rc/v1/users/:user_id',
    });
    const audit = (await (await call('/rc/v1/audit?limit=1')).json()) as readonly Line[];
    expect(audit).toEqual([expect.objectContaining({ request_id, result: 'user_not_found' })]);
  });

  it('[LOG-5] a request to an unknown path, without a token or with a wrong method is logged without user and token', async () => {
    const { server, lines } = await startLogged(EVERYTHING);
    await fetch(`${server.url}/nowhere/at-all`);
    await fetch(`${server.url}/rc/v1/users`);
    await fetch(`${server.url}/rc/v1/users/ada`, { method: 'PATCH' });
    await expect.poll(lines).toHaveLength(4);
    const nobody = { user_id: null, token_id: null, client_id: null };
    expect(lines().slice(1)).toEqual([
      expect.objectContaining({ route: null, status: 404, code: 'not_found', ...nobody }),
      expect.objectContaining({ route: '/rc/v1/users', status: 401, code: 'token_missing', ...nobody }),
      expect.objectContaining({ route: '/rc/v1/users/:user_id', status: 405, code: 'method_not_allowed', ...nobody }),
    ]);
  });

  it('[LOG-22] a request that finds nothing is logged with its path, without query and secrets; other requests are not', async () => {
    const { server, lines, call } = await startLogged(EVERYTHING);
    const token = server.token;
    await fetch(`${server.url}/nowhere/${token}/password=geheim?colour=ultramarine`);
    await fetch(`${server.url}/docs/no-such-page`);
    await fetch(`${server.url}/${'x'.repeat(300)}`);
    await call('/rc/v1/users/nobody', { method: 'DELETE' });
    await call('/rc/v1/users/ada', { method: 'PATCH' });
    await expect.poll(lines).toHaveLength(6);
    expect(lines().map(({ status, path, route }) => [status, path, route])).toEqual([
      [200, null, '/rc/v1/system/login'],
      [404, '/nowhere/***/password=***', null],
      [404, '/docs/no-such-page', '/docs/*'],
      [404, `/${'x'.repeat(199)}…`, null],
      [404, null, '/rc/v1/users/:user_id'],
      [405, null, '/rc/v1/users/:user_id'],
    ]);
  });

  it('[LOG-5] without log.requests a request that is neither failed nor slow leaves no line', async () => {
    const { lines, call } = await startLogged({ isComplete: false, slowMs: 600_000 });
    expect((await call('/rc/v1/users')).status).toBe(200);
    expect((await call('/rc/v1/users/nobody')).status).toBe(404);
    expect(lines()).toEqual([]);
  });
});
