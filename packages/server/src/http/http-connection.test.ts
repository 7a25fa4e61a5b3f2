import { once } from 'node:events';
import type { AddressInfo, Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { openRaw, readToEnd, readUntil } from '@tidemark/testing';
import type { FastifyInstance } from 'fastify';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DISCARDED_BYTES_MAX, PIPELINED_WAITING_MAX } from '../limits.ts';
import { buildHttp, type HttpOptions } from './app.ts';
import { exchangeOf } from './exchange.ts';

const BODY_BYTES_MAX = 4 * DISCARDED_BYTES_MAX;
/** More than the socket buffers on both sides hold. */
const LARGE_BYTES = 16_000_000;

/** What the routes of the test server have seen, and the gate that `/held` waits for. */
class TestRoutes {
  readonly begun: string[] = [];
  readonly over: string[] = [];
  working = 0;
  workingMost = 0;
  open: () => void = () => undefined;
  readonly gate = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}

async function openServer(options: Partial<HttpOptions> = {}) {
  const routes = new TestRoutes();
  const app = await buildHttp({ bodyBytesMax: BODY_BYTES_MAX, ...options }, (to) => addRoutes(to, routes));
  app.log.level = 'silent';
  await app.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(async () => {
    routes.open();
    app.server.closeAllConnections();
    await app.close();
  });
  const connect = () => {
    const socket = openRaw((app.server.address() as AddressInfo).port);
    onTestFinished(() => void socket.destroy());
    return socket;
  };
  return { app, routes, connect };
}

function addRoutes(to: FastifyInstance, routes: TestRoutes): void {
  to.get('/held/:name', async (request, reply) => {
    const { name } = request.params as { readonly name: string };
    routes.begun.push(name);
    exchangeOf(reply.raw).onOver(() => routes.over.push(name));
    routes.workingMost = Math.max(routes.workingMost, ++routes.working);
    await routes.gate;
    routes.working--;
    return { name };
  });
  to.get('/large', () => Buffer.alloc(LARGE_BYTES));
  to.post('/bodies', ({ body }) => ({ fields: Object.keys(body as object).length }));
}

const get = (path: string) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`;
const post = (path: string, length: number) =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${length}\r\n\r\n`;

/** Waits for a condition in this process. */
async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await nextTurn();
}

describe('pipelined requests', () => {
  it('[CONN-1] pipelined requests are processed one at a time and answered in order', async () => {
    const { routes, connect } = await openServer();
    const socket = connect();
    const names = Array.from({ length: 1 + PIPELINED_WAITING_MAX }, (_, index) => `n${index}`);
    socket.write(names.map((name) => get(`/held/${name}`)).join(''));
    await until(() => routes.begun.length > 0);
    for (let turn = 0; turn < 50; turn++) await nextTurn();
    expect(routes.begun).toEqual(['n0']);
    routes.open();
    const answers = await readUntil(socket, `"${names.at(-1)}"`);
    expect([...answers.matchAll(/"name":"(n\d+)"/g)].map(([, name]) => name)).toEqual(names);
    expect([routes.workingMost, routes.over]).toEqual([1, names]);
  });

  it('[CONN-1] a request more than may wait closes the connection', async () => {
    const { routes, connect } = await openServer();
    const socket = connect();
    socket.write(get('/held/x').repeat(2 + PIPELINED_WAITING_MAX));
    expect(await readToEnd(socket)).toBe('');
    routes.open();
    await until(() => routes.over.length > 0 && routes.working === 0);
    expect([routes.begun, routes.over]).toEqual([['x'], ['x']]);
  });

  it('[CONN-2] requests that wait behind another when the socket closes are never started', async () => {
    const { routes, connect } = await openServer();
    const socket = connect();
    socket.write(get('/held/first') + get('/held/second') + post('/bodies', 3_000_000));
    await until(() => routes.begun.length > 0);
    socket.resetAndDestroy();
    await until(() => routes.over.length > 0);
    routes.open();
    await until(() => routes.working === 0);
    expect([routes.begun, routes.over]).toEqual([['first'], ['first']]);
  });

  it('[CONN-1] a connection stays open after pipelined requests and takes more', async () => {
    const { routes, connect } = await openServer();
    routes.open();
    const socket = connect();
    socket.write(get('/held/a') + get('/held/b'));
    await readUntil(socket, '"b"');
    socket.write(get('/held/c'));
    expect(await readUntil(socket, '"c"')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('[CONN-1] requests behind one that closes the connection are not started', async () => {
    const { routes, connect } = await openServer();
    routes.open();
    const socket = connect();
    socket.write(`GET /held/a HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n${get('/held/b')}`);
    expect((await readToEnd(socket)).match(/HTTP\/1\.1 /g)).toHaveLength(1);
    expect(routes.begun).toEqual(['a']);
  });
});

describe('bytes that are not a request', () => {
  it('[CONN-5] invalid bytes behind requests are refused after these have been answered', async () => {
    const { routes, connect } = await openServer();
    const socket = connect();
    socket.write(`${get('/held/a')}${get('/held/b')}NONSENSE\r\n\r\n`);
    await until(() => routes.begun.length > 0);
    routes.open();
    const answer = await readToEnd(socket);
    expect([...answer.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['200', '200', '405']);
    expect(answer).toMatch(/"a".*"b".*"code":"method_not_allowed"/s);
  });

  it('[CONN-5] a body with invalid chunks is refused in its turn', async () => {
    const { routes, connect } = await openServer();
    const socket = connect();
    const head =
      'POST /bodies HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
    socket.write(`${get('/held/a')}${head}nonsense\r\n`);
    await until(() => routes.begun.length > 0);
    routes.open();
    expect([...(await readToEnd(socket)).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual([
      '200',
      '400',
    ]);
  });

  it('[CONN-5] CONNECT behind a request under way closes the connection without an answer', async () => {
    const { routes, connect } = await openServer();
    const socket = connect();
    socket.write(`${get('/held/a')}CONNECT x:80 HTTP/1.1\r\nhost: x\r\n\r\n`);
    expect(await readToEnd(socket)).toBe('');
    routes.open();
    await until(() => routes.over.length === 1);
  });
});

describe('unread answers', () => {
  it('[CONN-3] an unread answer closes its connection, and an answer that is not ready yet does not', async () => {
    const { app, routes, connect } = await openServer({ timeouts: { stallMs: 200, checkMs: 20 } });
    const patient = connect();
    patient.write(get('/held/a'));
    await until(() => routes.begun.length > 0);
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const idle = connect();
    idle.pause();
    idle.write(get('/large'));
    const [ours] = await accepted;
    await once(ours, 'close');
    expect(ours.bytesWritten).toBeGreaterThan(0);
    // The stall time has passed for the other one as well.
    routes.open();
    expect(await readUntil(patient, '"a"')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('[CONN-3] a connection whose answer was read late is kept for the next request', async () => {
    const { app, routes, connect } = await openServer({ timeouts: { checkMs: 10 } });
    routes.open();
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const socket = connect();
    socket.pause();
    socket.write(get('/large'));
    const [ours] = await accepted;
    await until(() => ours.writableLength > 0);
    let bytes = 0;
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    socket.resume();
    await until(() => bytes > LARGE_BYTES && ours.writableLength === 0);
    socket.write(get('/held/next'));
    await readUntil(socket, '"next"');
  });
});

describe('unread bodies', () => {
  it('[CONN-4] a refused body is read up to a limit, then the connection is closed', async () => {
    const { app, connect } = await openServer();
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const socket = connect();
    socket.write(post('/nowhere', 10_000_000_000));
    const [ours] = await accepted;
    const closed = once(ours, 'close');
    const answer = readUntil(socket, '"code":"not_found"');
    const block = Buffer.alloc(65_536, 0x20);
    const send = () => {
      while (socket.writable && socket.write(block));
    };
    socket.on('drain', send);
    send();
    expect(await answer).toMatch(/connection: close/i);
    await closed;
    // The limit, and what was under way when it was reached.
    expect(ours.bytesRead).toBeLessThan(DISCARDED_BYTES_MAX + 1_000_000);
  });

  it('[CONN-4] the connection of a caller that is still sending is read on after the refusal has been sent', async () => {
    const { app, connect } = await openServer();
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const socket = connect();
    const answer = readUntil(socket, '"code":"not_found"');
    socket.write(post('/nowhere', 10_000_000_000));
    const [ours] = await accepted;
    // Node.js destroys the socket as soon as such an answer has been sent, if it is left to do so.
    const isReadOn = new Promise((resolve) => {
      ours.once('finish', () => process.nextTick(() => resolve(!ours.destroyed && ours.listenerCount('data') === 1)));
    });
    expect(await answer).toMatch(/connection: close/i);
    expect(await isReadOn).toBe(true);
  });

  it('[CONN-4] a short refused body is read, and the connection stays open', async () => {
    const { routes, connect } = await openServer();
    routes.open();
    const socket = connect();
    socket.write(post('/nowhere', 1_000));
    expect(await readUntil(socket, '"code":"not_found"')).not.toMatch(/connection: close/i);
    socket.write(`${' '.repeat(1_000)}${get('/held/next')}`);
    expect(await readUntil(socket, '"next"')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('[CONN-4] an unexpected body is read up to the limit as well', async () => {
    const { app, routes, connect } = await openServer();
    routes.open();
    const accepted = once(app.server, 'connection') as Promise<[Socket]>;
    const socket = connect();
    socket.write(`GET /held/a HTTP/1.1\r\nhost: x\r\ncontent-length: 10000000000\r\n\r\n`);
    const [ours] = await accepted;
    const closed = once(ours, 'close');
    await readUntil(socket, '"a"');
    await closed;
  });

  it('[CONN-4] invalid bytes in a body that was answered already get no second answer', async () => {
    const { connect } = await openServer();
    const socket = connect();
    socket.write(post('/nowhere', BODY_BYTES_MAX));
    const answer = readToEnd(socket);
    socket.write('x'.repeat(100));
    expect((await answer).match(/HTTP\/1\.1 /g)).toHaveLength(1);
  });
});
