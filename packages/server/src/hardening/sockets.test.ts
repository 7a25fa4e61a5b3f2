import diagnostics from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { Caller, openRaw, readToEnd, readUntil, sendRaw } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { buildHttp } from '../http/app.ts';
import { IN_FLIGHT_UNCOUNTED_BYTES_MAX } from '../limits.ts';

/** Both ends are in this process, so twice as many files are open. */
const IDLE_SOCKETS = 5_000;

let server: TestServer;
let admin: Caller;
let http: Server;

function note(message: unknown): void {
  http = (message as { readonly fastify: FastifyInstance }).fastify.server;
}

beforeAll(async () => {
  diagnostics.subscribe('fastify.initialization', note);
  server = await startTestServer();
  diagnostics.unsubscribe('fastify.initialization', note);
  admin = new Caller(server.url, server.token);
});

afterAll(async () => {
  admin.close();
  await server.close();
});

describe('oversized request heads', () => {
  it.each([
    [
      '100 kB of one header',
      `GET /healthz HTTP/1.1\r\nhost: x\r\nx: ${'a'.repeat(100_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    [
      '20,000 headers',
      `GET /healthz HTTP/1.1\r\nhost: x\r\n${'x: y\r\n'.repeat(20_000)}\r\n`,
      431,
      'headers_too_large',
    ],
    ['an address of 1 MB', `GET /${'a'.repeat(1_000_000)} HTTP/1.1\r\nhost: x\r\n\r\n`, 414, 'uri_too_long'],
    [
      'an address of 10 kB',
      `GET /${'a'.repeat(10_000)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      414,
      'uri_too_long',
    ],
    [
      'a part of 2 kB',
      `GET /rc/v1/users/${'a'.repeat(2_000)} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`,
      414,
      'uri_too_long',
    ],
  ])('[HARD-54] %s is refused', async (_what, head, status, code) => {
    const answer = await sendRaw(server.port, head);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    expect(answer).toContain(`"code":"${code}"`);
  });

  it('[HARD-54] headers up to the size limit are read', async () => {
    const headers = Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`x-${index}`, 'y'.repeat(20)]));
    expect((await admin.get('/rc/v1/users', headers)).status).toBe(200);
  });
});

describe('slow callers', () => {
  it('[HARD-55] time-outs are ten seconds for headers and a minute for a request, checked every second', () => {
    const { headersTimeout, requestTimeout, keepAliveTimeout, maxConnections } = http;
    expect({ headersTimeout, requestTimeout, keepAliveTimeout, maxConnections }).toEqual({
      headersTimeout: 10_000,
      requestTimeout: 60_000,
      keepAliveTimeout: 72_000,
      // Ten thousand, plus one per device that may listen.
      maxConnections: 10_000 + server.config.devices.streamsMax,
    });
    expect((http as unknown as { readonly connectionsCheckingInterval: number }).connectionsCheckingInterval).toBe(
      1_000,
    );
  });

  it.each([
    ['nothing', ''],
    ['half a head', 'GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: '],
    [
      'half a body',
      'POST /things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 50\r\n\r\n{"a":',
    ],
    [
      'half a chunk',
      'POST /things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n50\r\n{"a":',
    ],
  ])('[HARD-55] a caller that sends %s and then stops gets a refusal and is closed', async (_what, sent) => {
    const { port } = await impatientServer();
    const socket = openRaw(port);
    socket.write(sent);
    const answer = await readToEnd(socket);
    expect(answer).toMatch(/^HTTP\/1\.1 408 .*"code":"request_timeout"/s);
  });

  it('[HARD-55] a caller that sends one byte now and then is closed', async () => {
    const { port } = await impatientServer();
    const socket = openRaw(port);
    const drip = setInterval(() => socket.write('x'), 20);
    onTestFinished(() => clearInterval(drip));
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ');
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 408 /);
  });

  it('[HARD-55] a caller that does not hang up after a refusal is disconnected', async () => {
    const accepted = once(http, 'connection') as Promise<[Socket]>;
    const socket = openRaw(server.port);
    onTestFinished(() => void socket.destroy());
    const [ours] = await accepted;
    const closed = once(ours, 'close');
    socket.write('NONSENSE\r\n\r\n');
    await readUntil(socket, '"code":');
    await closed;
  });

  it('[HARD-55] five thousand idle sockets do not keep others from being served', async () => {
    const sockets: Socket[] = [];
    // In groups, because the backlog of the system is bounded.
    while (sockets.length < IDLE_SOCKETS) {
      sockets.push(...(await Promise.all(Array.from({ length: 250 }, () => connected(server.port)))));
    }
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    expect((await admin.get('/rc/v1/users')).status).toBe(200);
    const stranger = new Caller(server.url, null);
    onTestFinished(() => stranger.close());
    expect((await stranger.get('/healthz')).status).toBe(200);
  });

  it('[HARD-55] all idle sockets are closed', async () => {
    const { port } = await impatientServer();
    const sockets = await Promise.all(Array.from({ length: 200 }, () => connected(port)));
    const answers = await Promise.all(sockets.map(readToEnd));
    expect(answers.every((answer) => answer.startsWith('HTTP/1.1 408 '))).toBe(true);
  });
});

/** A server whose time-outs are tenths of seconds instead of seconds. */
async function impatientServer(): Promise<{ readonly port: number }> {
  const timeouts = { headersMs: 150, requestMs: 300, checkMs: 50 };
  const app = await buildHttp({ bodyBytesMax: 1_000, timeouts }, (to) => {
    to.get('/healthz', () => ({ status: 'ok' }));
    to.post('/things', () => ({ stored: true }));
  });
  app.log.level = 'silent';
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => app.close());
  return app.server.address() as { readonly port: number };
}

async function connected(port: number): Promise<Socket> {
  const socket = openRaw(port);
  await once(socket, 'connect');
  return socket;
}

describe('Expect: 100-continue', () => {
  const head = (length: number) =>
    `POST /rc/v1/store/expected HTTP/1.1\r\nhost: x\r\nx-sync-api-token: ${server.token}\r\nconnection: close\r\n` +
    `content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${length}\r\n\r\n`;

  it('[HARD-58] a body that is too large is refused before it is sent', async () => {
    const answer = await sendRaw(server.port, head(99_999_999));
    expect(answer).toMatch(/^HTTP\/1\.1 413 .*"code":"body_too_large"/s);
    expect(answer).not.toContain('100 Continue');
  });

  it('[HARD-58] a body that will be read gets 100 Continue', async () => {
    const socket = openRaw(server.port);
    const body = '{"data":"x"}';
    socket.write(head(body.length));
    expect(await readUntil(socket, '\r\n\r\n')).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    socket.write(body);
    expect(await readToEnd(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('[HARD-58] an unknown expectation is refused', async () => {
    const lines = ['GET /healthz HTTP/1.1', 'host: x', 'expect: miracles', 'connection: close'];
    expect(await sendRaw(server.port, `${lines.join('\r\n')}\r\n\r\n`)).toMatch(/^HTTP\/1\.1 417 /);
  });
});

describe('large bodies', () => {
  const BYTES = 9_000_000;
  const head = () =>
    `POST /rc/v1/store/large HTTP/1.1\r\nhost: x\r\nx-sync-api-token: ${server.token}\r\n` +
    `content-type: application/json\r\nexpect: 100-continue\r\ncontent-length: ${BYTES}\r\n\r\n`;

  const bytesInFlight = async () => {
    const { text } = await admin.get('/metrics');
    return Number(/^tidemark_http_body_bytes (\d+)$/m.exec(text)?.[1]);
  };

  it('[HARD-66] large bodies of a token are bounded together, and release their share however they end', async () => {
    const sockets = Array.from({ length: 5 }, () => openRaw(server.port));
    onTestFinished(() => {
      for (const socket of sockets) socket.destroy();
    });
    for (const socket of sockets) {
      socket.write(head());
      await readUntil(socket, '100 Continue');
      socket.write(' '.repeat(BYTES - 1));
    }
    const body = JSON.stringify({ data: 'x'.repeat(BYTES) });
    const arrived = sockets.length * (BYTES - 1 - IN_FLIGHT_UNCOUNTED_BYTES_MAX);
    await expect.poll(bytesInFlight).toBe(arrived);
    const refused = await admin.postText('/rc/v1/store/large', body);
    expect([refused.status, refused.code, refused.headers['retry-after']]).toEqual([429, 'rate_limited', '1']);
    expect((await admin.post('/rc/v1/store/small', { data: 'x' })).status).toBe(200);
    const stranger = new Caller(server.url, null);
    onTestFinished(() => stranger.close());
    expect((await stranger.postText('/rc/v1/store/large', body)).code).toBe('token_missing');
    for (const socket of sockets) socket.destroy();
    const retried: number[] = [];
    while (retried.at(-1) !== 200 && retried.length < 50)
      retried.push((await admin.postText('/rc/v1/store/large', body)).status);
    expect(retried.at(-1)).toBe(200);
  });
});
