import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { TidemarkClient } from '../client/tidemark-client.ts';
import { TidemarkError } from './tidemark-error.ts';
import type { ClientOptions } from './transport.ts';

type Act = (response: ServerResponse, request: IncomingMessage) => void;

const TIMEOUT_MS = 12_345;
const TOKEN = 'tmk_secret-of-the-operator';
const REPORT = { source: 'Product', user_id: null, changed: 1, unchanged: 0, seq: 1 };

const ok: Act = (response) => answer(response, 200, REPORT);
const breakOff: Act = (response) => response.destroy();
const overloaded: Act = (response) =>
  answer(response, 503, { code: 'overloaded', detail: 'busy' }, { 'retry-after': '2' });

function answer(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

let server: Server;
let url: string;
/** What the server does, request by request; the last one for all that follow. */
let acts: Act[];
let received: string[];
let pausesMs: number[];
/** Called with each pause before it is over. */
let onPause: () => void;
/** Ends the time of the attempt under way. */
let endTime: () => void;

beforeEach(async () => {
  [acts, received, pausesMs, onPause, endTime] = [[ok], [], [], () => undefined, () => undefined];
  server = createServer((request, response) => {
    received.push(`${request.method} ${request.url}`);
    const act = acts.length > 1 ? acts.shift() : acts[0];
    request.resume().on('end', () => act?.(response, request));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

function client(options: Partial<ClientOptions> = {}): TidemarkClient {
  const after = (delayMs: number, action: () => void) => {
    if (delayMs === TIMEOUT_MS) {
      endTime = action;
      return () => undefined;
    }
    pausesMs.push(delayMs);
    onPause();
    const timer = setImmediate(action);
    return () => clearImmediate(timer);
  };
  return new TidemarkClient({
    url,
    token: TOKEN,
    timeoutMs: TIMEOUT_MS,
    platform: { random: () => 0.5, after },
    ...options,
  });
}

async function failureOf(call: Promise<unknown>): Promise<TidemarkError> {
  const error = await call.then(
    () => new Error('the call went well'),
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(TidemarkError);
  return error as TidemarkError;
}

const push = (options: Partial<ClientOptions> = {}) =>
  client(options).push.objects('Product', { 1: { name: 'Compass' } });

describe('repetitions', () => {
  it('[BSDK-2] a push whose answer is lost is made again, until it is answered', async () => {
    acts = [breakOff, breakOff, ok];
    expect(await push()).toEqual({ ...REPORT, chunks: 1 });
    expect(received).toEqual(Array(3).fill('POST /app/v1/Product/push_objects'));
  });

  it.each([
    ['a ping', (it: TidemarkClient) => it.users.ping({ user_id: 'ada' })],
    ['a new user', (it: TidemarkClient) => it.users.create({ login: 'ada', password: 'x' })],
    ['a new token', (it: TidemarkClient) => it.tokens.create({ name: 'x', scopes: ['push'] })],
    ['a deletion', (it: TidemarkClient) => it.users.delete('ada')],
    ['a reset', (it: TidemarkClient) => it.system.reset()],
    ['a text appended', (it: TidemarkClient) => it.documents.write('server', 'log', 'x', { append: true })],
  ])('[BSDK-2] %s whose answer is lost is not made again', async (_, call) => {
    acts = [breakOff, ok];
    expect(await failureOf(call(client()))).toMatchObject({ code: 'unreachable', attempts: 1 });
    expect(received.length).toBe(1);
  });

  it('[BSDK-2] [BSDK-3] what was refused at the door is made again whatever it is, when the server wants it', async () => {
    acts = [overloaded, ok];
    await client().users.ping({ user_id: 'ada' });
    expect(received.length).toBe(2);
    expect(pausesMs).toEqual([2_250]);
  });

  it('[BSDK-3] ends after a few attempts, each pause longer than the one before', async () => {
    acts = [(response) => answer(response, 503, { code: 'store_unavailable', detail: 'no' })];
    expect(await failureOf(push())).toMatchObject({ code: 'store_unavailable', status: 503, attempts: 5 });
    expect(pausesMs).toEqual([250, 500, 1_000, 2_000]);
  });

  it('[BSDK-2] a server that is not there is tried again, also for what must not happen twice', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const gone = client({ url: `http://127.0.0.1:${(other.address() as AddressInfo).port}` });
    other.close();
    await once(other, 'close');
    expect(await failureOf(gone.users.ping({ user_id: 'ada' }))).toMatchObject({ code: 'unreachable', attempts: 5 });
  });
});

describe('time', () => {
  it('[BSDK-5] a call that is not answered in time has failed, and is repeated like a lost answer', async () => {
    acts = [() => endTime()];
    expect(await failureOf(client().users.ping({ user_id: 'ada' }))).toMatchObject({ code: 'timeout', attempts: 1 });
    acts = [() => endTime(), ok];
    expect(await push()).toMatchObject({ changed: 1 });
  });

  it('[BSDK-5] also when the answer has begun and does not end', async () => {
    acts = [
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json' }).write('{"source":');
        setImmediate(() => endTime());
      },
    ];
    expect(await failureOf(client({ retry: { attemptsMax: 1 } }).system.license())).toMatchObject({ code: 'timeout' });
  });

  it('[BSDK-5] a signal stops a call on its way', async () => {
    const stop = new AbortController();
    acts = [() => stop.abort(new Error('enough'))];
    await expect(client().users.ping({ user_id: 'ada' }, { signal: stop.signal })).rejects.toThrow('enough');
    expect(received.length).toBe(1);
  });

  it('[BSDK-5] a signal stops a call that pauses, and one that has not begun', async () => {
    const stop = new AbortController();
    acts = [overloaded];
    onPause = () => stop.abort(new Error('enough'));
    await expect(client().system.license({ signal: stop.signal })).rejects.toThrow('enough');
    await expect(client().system.license({ signal: stop.signal })).rejects.toThrow('enough');
    expect(received.length).toBe(1);
  });
});

describe('failures', () => {
  it('[BSDK-4] say what the server said', async () => {
    const errors = [{ pointer: '/objects/1', detail: 'must be an object' }];
    acts = [(response) => answer(response, 400, { code: 'invalid_request', detail: 'bad', request_id: 'r-1', errors })];
    expect(await failureOf(push())).toMatchObject({
      name: 'TidemarkError',
      message: 'bad',
      code: 'invalid_request',
      status: 400,
      request_id: 'r-1',
      errors,
      attempts: 1,
    });
  });

  it.each([
    ['nothing at all', '', undefined, "the server answered 418 I'm a Teapot"],
    ['half a JSON', '{"code":"inter', 'application/json', '{"code":"inter'],
    ['a page', `<p>${'x'.repeat(1_000)}</p>`, 'text/html', `<p>${'x'.repeat(297)}`],
  ])('[BSDK-4] of something that is not Tidemark: %s', async (_, body, type, message) => {
    acts = [(response) => response.writeHead(418, type === undefined ? {} : { 'content-type': type }).end(body)];
    expect(await failureOf(push())).toMatchObject({ code: 'http_418', status: 418, message });
  });

  it('[BSDK-4] a success that is not JSON is none', async () => {
    acts = [(response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>hello</p>')];
    expect(await failureOf(push())).toMatchObject({ code: 'unexpected_answer', status: 200 });
  });

  it('[BSDK-4] an answer is not read without end', async () => {
    acts = [(response) => answer(response, 200, 'x'.repeat(1_000))];
    expect(await failureOf(client({ answerBytesMax: 1_001 }).system.license())).toMatchObject({
      code: 'unexpected_answer',
    });
    expect(await client({ answerBytesMax: 1_002 }).system.license()).toBe('x'.repeat(1_000));
  });

  it('[BSDK-4] redirects are told and not followed, so that the token goes nowhere else', async () => {
    acts = [(response) => response.writeHead(302, { location: `${url}/elsewhere` }).end()];
    const error = await failureOf(client().system.license());
    expect(error).toMatchObject({ code: 'http_302', status: 302, hint: expect.stringContaining('/elsewhere') });
    expect(received).toEqual(['GET /rc/v1/system/license']);
  });

  it('[BSDK-4] no secret stands in an error', async () => {
    acts = [breakOff];
    const lost = await failureOf(client().system.logIn({ login: 'admin', password: 'open-sesame' }));
    const shown = JSON.stringify([lost, lost.message, lost.stack, String(lost.cause)]);
    expect(shown).not.toMatch(/open-sesame|secret-of-the-operator/);
    expect(() => new TidemarkClient({ url: 'http://admin:open-sesame@127.0.0.1' })).toThrow(/^url must have no login/);
  });

  it.each(['', '.', '..', '\ud800'])('[BSDK-4] a name that cannot stand in a path is not sent: %j', async (login) => {
    expect(() => client().users.get(login)).toThrow(TidemarkError);
    await client().users.get('a/b?c#d');
    expect(received).toEqual(['GET /rc/v1/users/a%2Fb%3Fc%23d']);
  });
});
