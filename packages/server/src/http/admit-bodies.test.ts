import { once } from 'node:events';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Bearer } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  IN_FLIGHT_BYTES_MAX,
  IN_FLIGHT_BYTES_PER_TOKEN_MAX,
  IN_FLIGHT_BYTES_PER_USER_MAX,
  IN_FLIGHT_UNCOUNTED_BYTES_MAX,
} from '../limits.ts';
import { buildHttp } from './app.ts';
import { BodiesInFlight } from './bodies-in-flight.ts';

const MB = 1_000_000;
const BODY_BYTES_MAX = 10 * MB;

function bearer(user: string, client: string | null): Bearer {
  const rest = { tokenHash: '', name: null, scopes: [], expiresAtMs: null, isByRole: false };
  return { tokenId: `token of ${user}`, user, client, ...rest };
}
const device = (user: string) => bearer(user, `phone of ${user}`);
const backend = (name: string) => bearer(name, null);

describe('bodies in flight', () => {
  const free = IN_FLIGHT_UNCOUNTED_BYTES_MAX;

  it.each([
    ['the devices of a user', device('anna'), IN_FLIGHT_BYTES_PER_USER_MAX],
    ['a token', backend('erp'), IN_FLIGHT_BYTES_PER_TOKEN_MAX],
  ])('[HARD-66] %s may fill their share, and not a byte more', (_who, caller, shareMax) => {
    const bodies = new BodiesInFlight();
    const [first, second] = [bodies.begin(caller), bodies.begin(caller)];
    expect(first.add(free + shareMax - 10)).toBe(null);
    expect(second.add(free + 10)).toBe(null);
    expect(bodies.bytes).toBe(shareMax);
    expect(second.add(1)).toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
    expect(bodies.begin(caller).refusalOf(free + 1)).toMatchObject({ code: 'rate_limited' });
    expect(bodies.begin(caller).refusalOf(free)).toBe(null);
    expect(bodies.begin(device('bob')).add(free + MB)).toBe(null);
    second.end();
    first.end();
    expect(bodies.bytes).toBe(MB);
  });

  it('[HARD-66] all devices of a user have one share together', () => {
    const bodies = new BodiesInFlight();
    const [phone, laptop] = ['phone', 'laptop'].map((client) => bodies.begin(bearer('anna', client)));
    expect(phone?.add(free + IN_FLIGHT_BYTES_PER_USER_MAX)).toBe(null);
    expect(laptop?.add(free + 1)).toMatchObject({ code: 'rate_limited' });
  });

  it('[HARD-66] all callers together may fill the whole, and not a byte more', () => {
    const bodies = new BodiesInFlight();
    const counters = Array.from({ length: 4 }, (_, index) => bodies.begin(device(`user ${index}`)));
    for (const counter of counters) expect(counter.add(free + IN_FLIGHT_BYTES_MAX / 4)).toBe(null);
    expect(bodies.begin(backend('erp')).add(free + 1)).toMatchObject({ code: 'overloaded', retryAfterS: 1 });
    for (const counter of counters) counter.end();
    expect(bodies.bytes).toBe(0);
  });

  it('[HARD-66] one body is taken whatever its size, alone or as the only one of its caller', () => {
    const bodies = new BodiesInFlight();
    const large = bodies.begin(device('anna'));
    expect(large.refusalOf(2 * IN_FLIGHT_BYTES_MAX)).toBe(null);
    expect(large.add(2 * IN_FLIGHT_BYTES_MAX)).toBe(null);
    large.end();
    expect(bodies.begin(device('bob')).add(free + 1)).toBe(null);
    expect(bodies.begin(device('anna')).add(IN_FLIGHT_BYTES_PER_USER_MAX + MB)).toBe(null);
  });
});

describe('bodies through sockets', () => {
  const agent = new Agent({ keepAlive: true });
  let app: FastifyInstance;
  let url: string;
  let sent: ClientRequest[];

  beforeEach(async () => {
    sent = [];
    app = await buildHttp({ bodyBytesMax: BODY_BYTES_MAX }, (to) => {
      to.addHook('onRequest', async (incoming) => {
        incoming.bearer = device(String(incoming.headers['x-user']));
      });
      to.post('/', async () => ({}));
    });
    await app.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}/`;
  });

  afterEach(async () => {
    for (const outgoing of sent) outgoing.destroy();
    agent.destroy();
    await app.close();
  });

  /** Sends the head of a request, and so many bytes of its body. */
  function begin(user: string, announced: number | null, bytes: number, type = 'application/json'): ClientRequest {
    const length = announced === null ? {} : { 'content-length': String(announced) };
    const headers = { 'content-type': type, 'x-user': user, ...length };
    const outgoing = request(url, { method: 'POST', agent, headers });
    outgoing.on('error', () => undefined);
    sent.push(outgoing);
    if (bytes === 0) outgoing.flushHeaders();
    else outgoing.write(Buffer.alloc(bytes, 0x20));
    return outgoing;
  }

  async function codeOf(outgoing: ClientRequest): Promise<unknown> {
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    const chunks: Buffer[] = await response.toArray();
    return [response.statusCode, (JSON.parse(Buffer.concat(chunks).toString()) as { code?: string }).code];
  }

  const whole = (user: string) => {
    const outgoing = begin(user, 9 * MB, 9 * MB - 2);
    outgoing.end('{}');
    return codeOf(outgoing);
  };

  it('[HARD-66] bodies that are announced and not sent keep nobody out', async () => {
    for (let count = 0; count < 20; count++) begin('anna', 9 * MB, 0);
    await expect.poll(() => app.requestsOpen()).toBe(20);
    expect(app.bodiesInFlight.bytes).toBe(0);
    expect(await whole('anna')).toEqual([200, undefined]);
    expect(await whole('bob')).toEqual([200, undefined]);
  });

  it.each([
    ['a length', 9 * MB],
    ['no length', null],
  ])('[HARD-66] a body with %s beyond the share of its user is refused while it arrives', async (_what, announced) => {
    const second = begin('anna', announced, MB);
    begin('anna', 9 * MB, 9 * MB - 1);
    await expect.poll(() => app.bodiesInFlight.bytes).toBe(10 * MB - 1 - 2 * IN_FLIGHT_UNCOUNTED_BYTES_MAX);
    expect(await whole('anna')).toEqual([429, 'rate_limited']);
    expect(await whole('bob')).toEqual([200, undefined]);
    const answer = codeOf(second);
    second.write(Buffer.alloc(7.95 * MB, 0x20));
    expect(await answer).toEqual([429, 'rate_limited']);
    await expect.poll(() => app.bodiesInFlight.bytes).toBe(9 * MB - 1 - IN_FLIGHT_UNCOUNTED_BYTES_MAX);
  });

  it('[HARD-66] the connection of a short body that is refused while it arrives stays open', async () => {
    const first = begin('anna', 9 * MB, MB);
    begin('anna', 9 * MB, 9 * MB - 1);
    const short = begin('anna', 450_000, 200_000);
    const sentBytes = 10 * MB - 1 + 200_000 - 3 * IN_FLIGHT_UNCOUNTED_BYTES_MAX;
    await expect.poll(() => app.bodiesInFlight.bytes).toBe(sentBytes);
    first.write(Buffer.alloc(IN_FLIGHT_BYTES_PER_USER_MAX - sentBytes - 100_000, 0x20));
    await expect.poll(() => app.bodiesInFlight.bytes).toBe(IN_FLIGHT_BYTES_PER_USER_MAX - 100_000);
    const answered = once(short, 'response') as Promise<[IncomingMessage]>;
    short.end(Buffer.alloc(250_000, 0x20));
    const [response] = await answered;
    expect([response.statusCode, response.headers.connection]).toEqual([429, undefined]);
    response.resume();
  });

  it('[HARD-74] what arrives of a body after its request was answered counts for nothing', async () => {
    const outgoing = begin('anna', 500_000, 0, 'text/plain');
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(415);
    await expect.poll(() => app.requestsOpen()).toBe(0);
    outgoing.end(Buffer.alloc(500_000, 0x20));
    // The same connection is used again, so the server has read the body when it answers.
    await once(outgoing, 'close');
    const next = begin('anna', 2, 0);
    next.end('{}');
    expect(await codeOf(next)).toEqual([200, undefined]);
    expect(next.reusedSocket).toBe(true);
    expect(app.bodiesInFlight.bytes).toBe(0);
  });

  it('[HARD-74] a body that nobody reads does no harm when there is no room for it', async () => {
    const outgoing = begin('anna', 500_000, 0, 'text/plain');
    expect(await codeOf(outgoing)).toEqual([415, 'unsupported_media_type']);
    begin('anna', 9 * MB, 9 * MB - 1);
    begin('anna', 9 * MB, IN_FLIGHT_BYTES_PER_USER_MAX - 9 * MB);
    const sentBytes = IN_FLIGHT_BYTES_PER_USER_MAX - 1 - 2 * IN_FLIGHT_UNCOUNTED_BYTES_MAX;
    await expect.poll(() => app.bodiesInFlight.bytes).toBe(sentBytes);
    outgoing.end(Buffer.alloc(500_000, 0x20));
    await once(outgoing, 'close');
    expect(await whole('bob')).toEqual([200, undefined]);
    expect(app.bodiesInFlight.bytes).toBe(sentBytes);
  });
});
