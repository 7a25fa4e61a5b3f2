import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildHttp } from './app.ts';
import type { Route } from './route.ts';

let app: FastifyInstance;
let base: string;

function addRoutes(to: FastifyInstance): void {
  to.get('/healthz', () => ({ status: 'ok' }));
  to.post('/things/:id', () => ({ stored: true }));
  to.get('/broken', () => {
    throw new Error('the secret of the house');
  });
}

beforeAll(async () => {
  app = await buildHttp({ bodyBytesMax: 1_000 }, addRoutes);
  app.log.level = 'silent';
  await app.listen({ host: '127.0.0.1', port: 0 });
  base = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});

afterAll(() => app.close());

async function answer(path: string, init: RequestInit = {}) {
  const response = await fetch(base + path, init);
  const text = await response.text();
  return { status: response.status, type: response.headers.get('content-type'), text, headers: response.headers };
}

/** Returns the problem of an answer without its request id, and checks its form. */
async function problem(path: string, init?: RequestInit) {
  const { status, type, text } = await answer(path, init);
  const { request_id, ...rest } = JSON.parse(text) as Record<string, unknown>;
  expect({ status, type }).toEqual({ status: rest.status, type: 'application/problem+json' });
  expect(request_id).toMatch(/^[0-9a-f-]{36}$/);
  return rest;
}

describe('a route', () => {
  it('a route answers', async () => {
    expect(await answer('/healthz')).toMatchObject({ status: 200, text: '{"status":"ok"}' });
  });

  it('HEAD works wherever GET does', async () => {
    expect(await answer('/healthz', { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });
});

describe('an unknown path', () => {
  const nothing = (path: string) => ({
    type: 'urn:tidemark:problem:not_found',
    title: 'There is nothing at this address',
    status: 404,
    detail: `there is no route "${path}"`,
    code: 'not_found',
    hint: 'check the path for typing errors, and for a prefix that a proxy added or removed',
  });

  it('an unknown path is refused with the path but without the query', async () => {
    expect(await problem('/nowhere?token=secret')).toEqual(nothing('/nowhere'));
  });

  it('an unknown path is refused before the body is read', async () => {
    const headers = { 'content-type': 'application/json' };
    expect(await problem('/nowhere', { method: 'POST', headers, body: '{"torn' })).toEqual(nothing('/nowhere'));
    expect(await problem('/nowhere', { method: 'PUT', body: 'x', headers: { 'content-type': 'a/b' } })).toEqual(
      nothing('/nowhere'),
    );
  });

  it('a very long unknown path is shortened in the refusal', async () => {
    expect(await problem(`/${'x'.repeat(500)}`)).toEqual(nothing(`/${'x'.repeat(199)}…`));
  });

  it('an unknown path is refused in plain text if the caller prefers that', async () => {
    expect(await answer('/nowhere', { headers: { accept: 'text/plain' } })).toMatchObject({
      status: 404,
      type: 'text/plain; charset=utf-8',
      text: 'there is no route "/nowhere"',
    });
  });
});

describe('a known path with another method', () => {
  it.each([
    ['/healthz', 'DELETE', 'GET, HEAD'],
    ['/healthz', 'OPTIONS', 'GET, HEAD'],
    ['/things/7', 'GET', 'POST'],
    ['/things/7', 'PATCH', 'POST'],
  ])('%s does not take %s, and the refusal lists the allowed methods', async (path, method, allowed) => {
    const { status, headers, text } = await answer(path, { method });
    expect({ status, allow: headers.get('allow') }).toEqual({ status: 405, allow: allowed });
    expect(JSON.parse(text)).toMatchObject({
      type: 'urn:tidemark:problem:method_not_allowed',
      title: 'The address does not support this method',
      status: 405,
      detail: `"${path}" takes ${allowed}, not ${method}`,
      code: 'method_not_allowed',
    });
  });

  it('HEAD gets the status and the header without a body', async () => {
    const { status, headers, text } = await answer('/things/7', { method: 'HEAD' });
    expect({ status, allow: headers.get('allow'), text }).toEqual({ status: 405, allow: 'POST', text: '' });
  });

  it('a wrong method is refused before the body is read', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"torn' };
    expect(await problem('/healthz', init)).toMatchObject({ code: 'method_not_allowed' });
  });
});

it('[HARD-71] the body of a device has bounds of its own', async () => {
  const parse = { objectMembersMax: 10, depthMax: 10 };
  const bodyBounds = { device: { ...parse, containersMax: 2 }, other: { ...parse, containersMax: 3 } };
  const bounded = await buildHttp({ bodyBytesMax: 1_000, bodyBounds }, (to) => {
    const operation = { scope: 'device' } as Route;
    to.post('/device', { config: { operation } }, () => ({ stored: true }));
    to.post('/other', () => ({ stored: true }));
  });
  onTestFinished(() => bounded.close());
  const statusOf = async (url: string, payload: unknown) =>
    (await bounded.inject({ method: 'POST', url, payload: payload as object })).statusCode;
  expect([await statusOf('/device', [[]]), await statusOf('/device', [[], []])]).toEqual([200, 413]);
  expect([await statusOf('/other', [[], []]), await statusOf('/other', [[], [], []])]).toEqual([200, 413]);
});

describe('other refusals', () => {
  it('a body that is not JSON is refused', async () => {
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"torn' };
    expect(await problem('/things/7', init)).toMatchObject({ status: 400, code: 'invalid_json' });
  });

  it('a path that cannot be decoded is refused', async () => {
    expect(await problem('/things/%zz', { method: 'POST' })).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('an internal error is reported without details', async () => {
    expect(await problem('/broken')).toEqual({
      type: 'urn:tidemark:problem:internal',
      title: 'Internal error',
      status: 500,
      detail: 'internal error',
      code: 'internal',
      hint: 'report it with the log lines of this request_id',
    });
  });

  it('an unknown method is refused', async () => {
    const { port } = app.server.address() as AddressInfo;
    const socket = connect(port, '127.0.0.1');
    socket.end('PROPFIND /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
    const chunks: Buffer[] = [];
    for await (const chunk of socket) chunks.push(chunk);
    expect(Buffer.concat(chunks).toString()).toMatch(
      /^HTTP\/1\.1 405 .*\r\nallow: DELETE, GET, HEAD, POST, PUT\r\n.*\r\n\r\n\{"type":"urn:tidemark:problem:method_not_allowed"/s,
    );
  });
});
