import type { AddressInfo } from 'node:net';
import { Refusal } from '@tidemark/protocol';
import { Type } from '@tidemark/protocol/typebox';
import { openRaw, readUntil } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { RateLimiter } from '../auth/rate-limiter.ts';
import { REMEMBERED_BODY_BYTES_MAX } from '../limits.ts';
import { addRoute } from './add-route.ts';
import { buildHttp } from './app.ts';
import type { RequestRule } from './every-request.ts';
import { JsonParts, type RouteContext, route } from './route.ts';

/** What the route of the test server was asked. */
class Asked {
  readonly handled: unknown[] = [];
  checks = 0;
  repeated = 0;
  readonly measured: number[] = [];
  isCurrent: () => Promise<boolean> = async () => true;
  overload = (): string | null => null;
}

interface Serving {
  readonly rules?: readonly RequestRule[];
  /** Given: the route is for devices only. */
  readonly context?: Pick<RouteContext, 'tidemark' | 'rates' | 'nowMs'>;
}

async function openServer({ rules = [], context }: Serving = {}) {
  const asked = new Asked();
  const echo = route({
    method: 'POST',
    path: '/echo',
    operationId: 'test',
    scope: context === undefined ? 'public' : 'device',
    summary: 'Answers with its body',
    body: Type.Unknown(),
    answer: Type.Unknown(),
    handle: async ({ body }) => {
      asked.handled.push(body);
      const isCurrent = () => {
        asked.checks++;
        return asked.isCurrent();
      };
      const shown = typeof body === 'string' ? body.length : body;
      return new JsonParts([JSON.stringify({ body: shown, end: true })], {
        isCurrent,
        onRepeated: () => asked.repeated++,
      });
    },
  });
  const app = await buildHttp({ bodyBytesMax: 100_000, gauge: asked, rules }, (http) => {
    http.onEnded(({ status }) => asked.measured.push(status));
    addRoute(http, { ...context } as RouteContext, echo);
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const socket = openRaw((app.server.address() as AddressInfo).port);
  onTestFinished(async () => {
    socket.destroy();
    app.server.closeAllConnections();
    await app.close();
  });
  /** Sends parts of a request one after the other, and returns the answer. */
  const send = async (...texts: readonly string[]) => {
    const answer = readUntil(socket, '"end":true');
    for (const text of texts) await new Promise((resolve) => socket.write(text, resolve));
    return answer;
  };
  return { asked, send, socket };
}

function head(body: string, more = ''): string {
  const length = Buffer.byteLength(body);
  return `POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n${more}content-length: ${length}\r\n\r\n`;
}

const BODY = '{"a":"ä"}';

it('[CONN-8] an equal request on the same connection gets the same answer with another request id, without being handled', async () => {
  const { asked, send } = await openServer();
  const answers = [await send(head(BODY) + BODY), await send(head(BODY) + BODY), await send(head(BODY) + BODY)];
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }], checks: 2, repeated: 2, measured: [200, 200, 200] });
  const ids = answers.map((answer) => /x-request-id: (\S+)/.exec(answer)?.[1]);
  expect(new Set(ids).size).toBe(3);
  const withoutId = answers.map((answer) =>
    answer
      .split('\r\n')
      .filter((line) => !/^(x-request-id|date):/i.test(line))
      .sort()
      .join('\n'),
  );
  expect(new Set(withoutId).size).toBe(1);
});

it('[CONN-8] an equal request is handled again when the route says that its answer is outdated or cannot tell', async () => {
  const { asked, send } = await openServer();
  await send(head(BODY) + BODY);
  asked.isCurrent = async () => false;
  expect(await send(head(BODY) + BODY)).toContain('{"body":{"a":"ä"},');
  asked.isCurrent = () => Promise.reject(new Error('the store is away'));
  expect(await send(head(BODY) + BODY)).toContain('{"body":{"a":"ä"},');
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }, { a: 'ä' }, { a: 'ä' }], repeated: 0 });
});

it('[CONN-8] a request that differs in its body or in a header is handled, with its own body', async () => {
  const { asked, send } = await openServer();
  await send(head(BODY) + BODY);
  const other = '{"b":"ä"}';
  expect(await send(head(other) + other)).toContain('{"body":{"b":"ä"},');
  await send(head(BODY, 'authorization: Bearer other\r\n') + BODY);
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }, { b: 'ä' }, { a: 'ä' }], repeated: 0 });
});

it('[CONN-8] a request with another token on the same connection is handled, also when it is as long as the first', async () => {
  const { asked, send } = await openServer();
  for (const token of ['one', 'two']) await send(head(BODY, `authorization: Bearer ${token}\r\n`) + BODY);
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }, { a: 'ä' }], checks: 0, repeated: 0 });
});

it('[CONN-8] a body that arrives after its head is read whole, whether it is the same or not', async () => {
  const { asked, send } = await openServer();
  for (const body of [BODY, BODY, '{"b":"ä"}', BODY]) {
    expect(await send(head(body), body.slice(0, 3), body.slice(3))).toContain(`{"body":${body},`);
  }
  expect(asked.measured).toEqual([200, 200, 200, 200]);
});

it('[CONN-8] requests with a body in chunks are all handled, and those after them are answered', async () => {
  const { asked, send, socket } = await openServer();
  const chunk = (text: string) => `${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`;
  const start =
    'POST /echo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
  for (let count = 0; count < 3; count++) {
    expect(await send(start + chunk(BODY) + chunk(''))).toContain(`{"body":${BODY},`);
  }
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }, { a: 'ä' }, { a: 'ä' }], checks: 0, repeated: 0 });
  // The first chunk is what was answered before, and the body goes on.
  const refused = readUntil(socket, '"code":"invalid_json"');
  socket.write(start + chunk(BODY) + chunk(',{}') + chunk(''));
  expect(await refused).toContain('HTTP/1.1 400');
});

it('[CONN-8] an overloaded server refuses an equal request', async () => {
  const { asked, send, socket } = await openServer();
  await send(head(BODY) + BODY);
  asked.overload = () => 'the event loop is late';
  const refused = readUntil(socket, '"code":"overloaded"');
  socket.write(head(BODY) + BODY);
  expect(await refused).toContain('HTTP/1.1 503');
  expect(asked.repeated).toBe(0);
});

it('[CONN-8] bodies of up to REMEMBERED_BODY_BYTES_MAX bytes are remembered, larger ones are handled again', async () => {
  const { asked, send } = await openServer();
  const bodyOf = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
  const largest = bodyOf(REMEMBERED_BODY_BYTES_MAX);
  for (let count = 0; count < 2; count++) await send(head(largest) + largest);
  expect(asked).toMatchObject({ repeated: 1 });
  const tooLarge = bodyOf(REMEMBERED_BODY_BYTES_MAX + 1);
  for (let count = 0; count < 2; count++) await send(head(tooLarge) + tooLarge);
  expect(asked).toMatchObject({ repeated: 1 });
});

it('[CONN-30] a rule for every request is applied to requests that are handled and to those that are answered again', async () => {
  const begun: string[] = [];
  let refusal: Refusal | null = null;
  const rule: RequestRule = {
    name: 'planted',
    begin: ({ request, headers }) => {
      begun.push(request.id);
      headers.header('x-planted', String(begun.length));
    },
    refusal: () => refusal,
  };
  const { asked, send, socket } = await openServer({ rules: [rule] });
  const answers = [await send(head(BODY) + BODY), await send(head(BODY) + BODY), await send(head(BODY) + BODY)];
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }], repeated: 2 });
  expect(answers.map((answer) => answer.match(/x-planted: .*/g))).toEqual([
    ['x-planted: 1'],
    ['x-planted: 2'],
    ['x-planted: 3'],
  ]);
  expect(begun).toEqual(answers.map((answer) => /x-request-id: (\S+)/.exec(answer)?.[1]));
  refusal = new Refusal('overloaded', 'planted');
  const refused = readUntil(socket, '"code":"overloaded"');
  socket.write(head(BODY) + BODY);
  expect(await refused).toContain('HTTP/1.1 503');
  expect(asked).toMatchObject({ repeated: 2, measured: [200, 200, 200, 503] });
  expect(begun).toHaveLength(4);
});

it('[CONN-30] requests that are answered again count against the rate limit of their caller and end with its token', async () => {
  const bearer = { user: 'anna', client: 'phone', tokenId: 'id', tokenHash: 'hash', scopes: ['device'] };
  let found: typeof bearer | null = bearer;
  const bearers = { hashOf: () => 'hash', bearerOf: async () => found, endOf: async () => 'token_revoked' };
  const rates = new RateLimiter({ windowS: 3600, perDevice: 3, perUser: 0, perToken: 0 }, { nowMs: () => 0 });
  const context = { tidemark: { tokens: { bearers } }, rates, nowMs: () => 0 } as unknown as NonNullable<
    Serving['context']
  >;
  const { asked, send, socket } = await openServer({ context });
  const request = head(BODY, 'authorization: Bearer token\r\n') + BODY;
  const answers = [await send(request), await send(request), await send(request)];
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }], repeated: 2 });
  expect(answers.map((answer) => answer.match(/ratelimit: .*/g))).toEqual([
    ['ratelimit: "device";r=2;t=1200'],
    ['ratelimit: "device";r=1;t=2400'],
    ['ratelimit: "device";r=0;t=3600'],
  ]);
  const refusalWith = async (code: string) => {
    const refused = readUntil(socket, `"code":"${code}"`);
    socket.write(request);
    return refused;
  };
  expect(await refusalWith('rate_limited')).toContain('HTTP/1.1 429');
  found = null;
  expect(await refusalWith('token_revoked')).toContain('HTTP/1.1 401');
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }], repeated: 2, measured: [200, 200, 200, 429, 401] });
});

it('[CONN-30] a request whose caller is refused only when it is to be answered again is handled with its own body', async () => {
  const bearer = { user: 'anna', client: 'phone', tokenId: 'id', tokenHash: 'hash', scopes: ['device'] };
  const bearers = { hashOf: () => 'hash', bearerOf: async () => bearer };
  const refusals: Refusal[] = [];
  // A rate limit may refuse at one moment and admit at the next.
  const rates = { take: () => refusals.shift() ?? null };
  const context = { tidemark: { tokens: { bearers } }, rates, nowMs: () => 0 } as unknown as NonNullable<
    Serving['context']
  >;
  const { asked, send } = await openServer({ context });
  const request = head(BODY, 'authorization: Bearer token\r\n') + BODY;
  await send(request);
  refusals.push(new Refusal('rate_limited', 'planted'));
  await send(request);
  expect(asked).toMatchObject({ handled: [{ a: 'ä' }, { a: 'ä' }], checks: 1, repeated: 0, measured: [200, 200] });
});
