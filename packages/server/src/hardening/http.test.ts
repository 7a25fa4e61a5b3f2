import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { Caller, type Library, openLibrary, sendRaw } from '@tidemark/testing';
import { silentLog, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openPasswords } from '../auth/passwords.ts';

let server: TestServer;
let admin: Caller;
let stranger: Caller;
let library: Library;
const faults: string[] = [];

beforeAll(async () => {
  server = await startTestServer(
    {},
    silentLog((line) => faults.push(line)),
    // The library hashes in another way, which this server cannot read.
    await openPasswords(),
  );
  admin = new Caller(server.url, server.token);
  stranger = new Caller(server.url, null);
  library = await openLibrary(server.folder);
});

afterAll(async () => {
  admin.close();
  stranger.close();
  await library.close();
  await server.close();
});

function rawRequest(line: string, headers: readonly string[] = [], body = ''): Promise<string> {
  return sendRaw(
    server.port,
    `${[line, ...headers, `x-sync-api-token: ${server.token}`, 'connection: close'].join('\r\n')}\r\n\r\n${body}`,
  );
}

describe('a body', () => {
  it.each([
    ['torn', '{', 'invalid_json'],
    ['empty', '', 'invalid_json'],
    ['null', 'null', 'invalid_request'],
    ['a text', '"x"', 'invalid_request'],
    ['with a byte order mark', '\ufeff{"data":"x"}', 'invalid_json'],
    ['with a trailing comma', '{"data":"x",}', 'invalid_json'],
    ['with NaN', '{"data":NaN}', 'invalid_json'],
    ['with a comment', '{"data":"x"} // y', 'invalid_json'],
    ['with something behind it', '{"data":"x"}{', 'invalid_json'],
    ['of quotes without end', `{"data":"${'\\"'.repeat(1_000)}`, 'invalid_json'],
    ['of nothing but closing brackets', ']'.repeat(1_000), 'invalid_json'],
  ])('[HARD-51] a body that is %s is refused', async (_what, text, code) => {
    const reply = await admin.postText('/rc/v1/store/x', text);
    expect([reply.status, reply.code]).toEqual([400, code]);
  });

  it('[HARD-51] a body that is not UTF-8 is refused, and nothing of it is repeated', async () => {
    const body = Buffer.concat([Buffer.from('{"data":"top secret'), Buffer.from([0xff, 0xfe]), Buffer.from('"}')]);
    const reply = await admin.postText('/rc/v1/store/x', body);
    expect(reply.code).toBe('invalid_json');
    expect(reply.text).not.toContain('secret');
    expect((await admin.postText('/rc/v1/store/x', '{"data":"top secret')).text).not.toContain('secret');
  });

  it.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('[HARD-52] a body nested 100,000 levels deep in %s is refused', async (_what, open, close) => {
    const deep = `${open.repeat(100_000)}1${close.repeat(100_000)}`;
    for (const text of [deep, `{"data":${deep}}`, `{"data":{"1":{"a":${deep}}}}`]) {
      expect((await admin.postText('/rc/v1/store/x', text)).code).toBe('too_deep');
    }
  });

  it('[HARD-52] a body of brackets only is refused without using memory', async () => {
    const before = process.memoryUsage().rss;
    const text = `{"data":${'['.repeat(4_900_000)}${']'.repeat(4_900_000)}}`;
    expect((await admin.postText('/rc/v1/store/x', text)).code).toBe('too_deep');
    expect(process.memoryUsage().rss - before).toBeLessThan(150e6);
  });

  it('[HARD-52] a body may contain a value at the depth limit, and not one level deeper', async () => {
    const value = (depth: number) => JSON.parse(`${'['.repeat(depth)}${']'.repeat(depth)}`) as unknown;
    expect((await admin.post('/rc/v1/store/deep', { data: { 1: { a: value(32) } } })).status).toBe(200);
    expect((await admin.post('/rc/v1/store/deep', { data: { 1: { a: value(33) } } })).code).toBe('too_deep');
  });

  it.each(['gzip', 'deflate', 'br', 'GZip', 'identity, gzip', 'x'])(
    '[HARD-53] a body compressed with %s is refused without decompressing it',
    async (encoding) => {
      const bomb = gzipSync(Buffer.alloc(10_000_000, 0x20));
      const reply = await admin.postText('/rc/v1/store/x', bomb, { 'content-encoding': encoding });
      expect([reply.status, reply.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  it.each(['iso-8859-1', '"UTF-16"', 'us-ascii', 'utf-8; charset=latin1'])(
    '[HARD-53] a body in the charset %s gets 415',
    async (charset) => {
      const type = { 'content-type': `application/json; charset=${charset}` };
      const reply = await admin.postText('/rc/v1/store/x', '{"data":"x"}', type);
      expect([reply.status, reply.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  it.each(['utf-8', 'UTF-8', '"utf-8"', 'utf8'])('[HARD-53] a body in the charset %s is read', async (charset) => {
    const type = { 'content-type': `application/json;charset=${charset}` };
    expect((await admin.postText('/rc/v1/store/x', '{"data":"x"}', type)).status).toBe(200);
  });

  it('[HARD-53] a body at the size limit is read, and one byte more is refused, with or without a length', async () => {
    const small = await startTestServer({ bodyBytesMax: 1_000 });
    onTestFinished(() => small.close());
    const caller = new Caller(small.url, small.token);
    onTestFinished(() => caller.close());
    const body = (bytes: number) => JSON.stringify({ data: 'x'.repeat(bytes - '{"data":""}'.length) });
    expect((await caller.postText('/rc/v1/store/x', body(1_000))).status).toBe(200);
    expect(await caller.postText('/rc/v1/store/x', body(1_001))).toMatchObject({ status: 413, code: 'body_too_large' });
    const chunked = (text: string) =>
      sendRaw(
        small.port,
        `POST /rc/v1/store/x HTTP/1.1\r\nhost: x\r\nx-sync-api-token: ${small.token}\r\ncontent-type: application/json\r\n` +
          `connection: close\r\ntransfer-encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`,
      );
    expect(await chunked(body(1_000))).toMatch(/^HTTP\/1\.1 200 /);
    expect(await chunked(body(1_001))).toMatch(/^HTTP\/1\.1 413 .*"code":"body_too_large"/s);
    expect(((await caller.get('/rc/v1/store/x')).body as string).length).toBe(1_000 - '{"data":""}'.length);
  });

  it('[HARD-53] a body far above the limit gets 413, with or without a length, and the connection is closed', async () => {
    const body = Buffer.from(JSON.stringify({ data: 'x'.repeat(12_000_000) }));
    for (const isAnnounced of [true, false]) {
      const length: Record<string, string> = isAnnounced ? { 'content-length': String(body.length) } : {};
      const headers = { 'x-sync-api-token': server.token, 'content-type': 'application/json', ...length };
      for (let attempt = 0; attempt < 10; attempt++) {
        const outgoing = request(`${server.url}/rc/v1/store/x`, { method: 'POST', agent: false, headers });
        outgoing.end(body);
        const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
        // The answer is there, whatever happens to the rest of the body.
        outgoing.on('error', () => undefined);
        const text = (await response.setEncoding('utf8').toArray()).join('');
        outgoing.destroy();
        expect({ status: response.statusCode, connection: response.headers.connection }).toEqual({
          status: 413,
          connection: 'close',
        });
        expect(text).toContain('"code":"body_too_large"');
      }
    }
  });
});

describe('a method', () => {
  const LISTED = 'allow: DELETE, GET, HEAD, POST, PUT';

  it.each(['PROPFIND', 'LINK', 'M-SEARCH', 'FOO', 'get'])(
    '[HARD-56] the method %s gets a list of the allowed methods',
    async (method) => {
      const answer = await rawRequest(`${method} /rc/v1/users HTTP/1.1`, ['host: x']);
      expect(answer).toMatch(/^HTTP\/1\.1 405 /);
      expect(answer.toLowerCase()).toContain(LISTED.toLowerCase());
      expect(answer).toContain('"code":"method_not_allowed"');
    },
  );

  it('[HARD-56] CONNECT opens no tunnel', async () => {
    const answer = await sendRaw(server.port, 'CONNECT 169.254.169.254:80 HTTP/1.1\r\nhost: x\r\n\r\n');
    expect(answer).toMatch(/^HTTP\/1\.1 405 .*"code":"method_not_allowed"/s);
  });

  it('[HARD-56] TRACE does not echo the request', async () => {
    const answer = await rawRequest('TRACE /rc/v1/users HTTP/1.1', ['host: x', 'x-secret: seen']);
    expect(answer).toMatch(/^HTTP\/1\.1 405 /);
    expect(answer).toContain('allow: GET, HEAD, POST');
    expect(answer).not.toContain('seen');
  });

  it('[HARD-56] a method that a path does not take gets 405 with the methods it takes', async () => {
    const reply = await admin.delete('/rc/v1/system/license');
    expect([reply.status, reply.code, reply.headers.allow]).toEqual([405, 'method_not_allowed', 'GET, HEAD']);
  });
});

describe('a request', () => {
  it('[HARD-57] a request without Host gets 400 in HTTP/1.1', async () => {
    expect(await rawRequest('GET /healthz HTTP/1.1')).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    expect(await rawRequest('GET /healthz HTTP/1.0')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('[HARD-57] the Host of a request does not appear in any answer', async () => {
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-for': 'evil.example' };
    for (const path of [
      '/openapi.json',
      '/docs/',
      '/docs/api/',
      '/rc/v1/users',
      '/nowhere',
      '/rc/v1/system/license',
      '/readyz',
    ]) {
      const reply = await admin.get(path, headers);
      expect(reply.text + JSON.stringify(reply.headers)).not.toContain('evil');
    }
  });

  it.each([
    ['two lengths', ['content-length: 5', 'content-length: 6']],
    ['a length and chunks', ['content-length: 5', 'transfer-encoding: chunked']],
    ['a length that is none', ['content-length: -1']],
    ['a folded header', ['x-a: b', ' c']],
    ['a header without a name', [': x']],
    ['a space before the colon', ['x-a : b']],
  ])('[HARD-57] a request with %s is refused as invalid HTTP', async (_what, headers) => {
    const lines = ['POST /rc/v1/store/x HTTP/1.1', 'host: x', ...headers, 'content-type: application/json'];
    const answer = await sendRaw(server.port, `${lines.join('\r\n')}\r\n\r\n{"data":"smuggled"}`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
    expect(answer.match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });

  it.each([
    ['two Host headers', ['host: x', 'host: y']],
    ['the same Host header twice', ['host: x', 'Host: x']],
    ['two Authorization headers', ['host: x', 'authorization: Bearer a', 'Authorization: Bearer b']],
    ['two X-Sync-API-TOKEN headers', ['host: x', 'x-sync-api-token: a']],
    ['two different tokens', ['host: x', 'authorization: bearer another']],
  ])('[HARD-57] a request with %s gets 400', async (_what, headers) => {
    const answer = await rawRequest('GET /rc/v1/users HTTP/1.1', headers);
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*"code":"invalid_request"/s);
  });

  it('[HARD-57] a request with the same token in both headers, or with credentials for a proxy, is served', async () => {
    for (const authorization of [`Bearer ${server.token}`, 'Basic YTpi']) {
      const answer = await rawRequest('GET /rc/v1/users HTTP/1.1', ['host: x', `authorization: ${authorization}`]);
      expect(answer).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  it.each(['null', 'https://evil.example', 'http://127.0.0.1'])(
    '[HARD-59] a request from the origin %s gets no CORS headers',
    async (origin) => {
      const headers = { origin, 'x-origin': origin, 'access-control-request-method': 'POST' };
      const replies = [
        await admin.get('/rc/v1/users', headers),
        await stranger.get('/rc/v1/users', headers),
        await stranger.send({ method: 'OPTIONS', path: '/rc/v1/users', headers, body: null }),
        await stranger.send({ method: 'OPTIONS', path: '/app/v1/x/push_objects', headers, body: null }),
      ];
      expect(replies.map(({ status }) => status)).toEqual([200, 401, 405, 405]);
      for (const { headers: sent } of replies) {
        expect(Object.keys(sent).filter((name) => name.startsWith('access-control'))).toEqual([]);
      }
    },
  );

  it('[HARD-59] answers carry headers that forbid caching and content sniffing', async () => {
    await admin.post('/rc/v1/store/page', { data: '<script>alert(1)</script>' });
    const { headers } = await admin.get('/rc/v1/store/page', { accept: 'text/html' });
    expect(headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    const refused = await admin.get('/rc/v1/%3Cscript%3E', { accept: 'text/plain' });
    expect(refused.headers['x-content-type-options']).toBe('nosniff');
  });

  it.each([
    '/docs/api/static/nothing.js',
    '/docs/api/static/../../package.json',
    '/docs/api/static/..%2f..%2f..%2fpackage.json',
    '/docs/api/static/%2e%2e/%2e%2e/package.json',
    '/docs/api/static//etc/passwd',
    '/docs/api/static/..\\..\\package.json',
    '/docs/../../etc/passwd',
    '/docs/..%2f..%2fpackage.json',
    '/docs/%2e%2e/package.json',
    '/docs/files.json',
    '/docs/.inputs',
    '/docs//etc/passwd',
    '/docs/assets/..%2f..%2fpackage.json',
  ])('[HARD-15] %s leads to no file outside of the documentation', async (path) => {
    const answer = await rawRequest(`GET ${path} HTTP/1.1`, ['host: x']);
    expect(answer).toMatch(/^HTTP\/1\.1 4/);
    expect(answer).not.toMatch(/root:|"version"/);
  });

  it('[HARD-61] the viewer of the description cannot be framed by another site', async () => {
    const { headers } = await stranger.get('/docs/api/');
    expect(String(headers['content-security-policy'])).toMatch(/frame-ancestors 'self'/);
  });

  it.each(['/docs/api/', '/docs/api/json', '/docs/api/static/swagger-ui-bundle.js'])(
    '[HARD-61] browsers neither guess the type of %s nor tell other sites of it',
    async (path) => {
      const { status, headers } = await stranger.get(path);
      const { 'x-content-type-options': options, 'referrer-policy': policy } = headers;
      expect({ status, options, policy }).toEqual({ status: 200, options: 'nosniff', policy: 'same-origin' });
    },
  );

  it('[HARD-61] the viewer of the description may load nothing from elsewhere', async () => {
    const { headers } = await stranger.get('/docs/api/');
    expect(String(headers['content-security-policy'])).toMatch(/^default-src 'self'/);
  });
});

describe('the description', () => {
  it('[CONN-6] the description has an ETag, and a request with it gets 304', async () => {
    for (const path of ['/openapi.json', '/docs/api/json']) {
      const { status, headers, body } = await stranger.get(path);
      expect([status, (body as { openapi: string }).openapi]).toEqual([200, '3.1.0']);
      const etag = String(headers.etag);
      for (const named of [etag, `W/${etag}`, `"other", ${etag}`, '*']) {
        expect(await stranger.get(path, { 'if-none-match': named })).toMatchObject({ status: 304, text: '' });
      }
      expect((await stranger.get(path, { 'if-none-match': '"other"' })).status).toBe(200);
    }
  });

  it('[CONN-7] the viewer does not send browsers to HTTPS, which the server itself does not speak', async () => {
    for (const path of [
      '/docs/api/',
      '/docs/api/static/swagger-ui-bundle.js',
      '/docs/api/static/swagger-initializer.js',
    ]) {
      const { status, headers } = await stranger.get(path, { host: 'tidemark.example' });
      expect(status).toBe(200);
      expect(String(headers['content-security-policy'])).toMatch(/^default-src 'self'/);
      expect(String(headers['content-security-policy'])).not.toContain('upgrade-insecure-requests');
      expect(headers['strict-transport-security']).toBeUndefined();
    }
  });
});

describe('internal errors', () => {
  it('[HARD-62] an internal error reveals no stack, path, key or data', async () => {
    // A hash that cannot be read is an error in the data, not of the caller.
    const password = 'password of the damaged';
    await library.tidemark.users.create({ attributes: { login: 'damaged', password } });
    const reply = await stranger.post('/rc/v1/system/login', { login: 'damaged', password });
    const { request_id, ...rest } = reply.body as { readonly request_id: string };
    expect(request_id).toBe(reply.headers['x-request-id']);
    expect(rest).toEqual({
      type: 'urn:tidemark:problem:internal',
      title: 'Internal error',
      status: 500,
      detail: 'internal error',
      code: 'internal',
      hint: 'report it with the log lines of this request_id',
    });
    expect(faults.filter((line) => line.includes(request_id))).toHaveLength(1);
    expect(faults.join()).not.toContain(password);
  });

  it('[HARD-63] metrics need a token unless they are public', async () => {
    expect(await stranger.get('/metrics')).toMatchObject({ status: 401, code: 'token_missing' });
    expect((await stranger.get('/readyz')).body).toEqual({ status: 'ready', degraded: false });
    expect((await admin.get('/metrics')).text).toContain('tidemark_http_request_seconds');
    expect((await admin.get('/readyz')).body).toMatchObject({ status: 'ready', checks: expect.any(Array) });
    const open = await startTestServer({ areMetricsPublic: true });
    onTestFinished(() => open.close());
    const passer = new Caller(open.url, null);
    onTestFinished(() => passer.close());
    expect((await passer.get('/metrics')).text).toContain('tidemark_http_request_seconds');
    expect((await passer.get('/readyz')).body).toMatchObject({ status: 'ready', checks: expect.any(Array) });
  });
});
