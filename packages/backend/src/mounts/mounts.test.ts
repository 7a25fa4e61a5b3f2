import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import express from 'express';
import fastify from 'fastify';
import { Hono } from 'hono';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createHandler, type Handler } from '../handler/create-handler.ts';
import { Rejected } from '../handler/verdicts.ts';
import type { ObjectEntry } from '../push/objects.ts';
import { expressMount } from './express.ts';
import { fastifyMount } from './fastify.ts';
import { honoMount } from './hono.ts';
import { nodeListener } from './node.ts';

const SECRET = 'a secret that both sides know';

/** Where it listens, and how it ends. */
interface Place {
  readonly url: string;
  close(): Promise<void>;
}

async function listening(server: Server): Promise<Place> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/tidemark`,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const MOUNTS: Readonly<Record<string, (handler: Handler) => Promise<Place>>> = {
  'node:http': (handler) => listening(createServer(nodeListener(handler))),
  express: (handler) => {
    const app = express();
    app.use('/tidemark', expressMount(handler));
    app.use(express.json());
    return listening(createServer(app));
  },
  'express after a parser that keeps the bytes': (handler) => {
    const app = express();
    app.use(express.raw({ type: 'application/json', limit: '1mb' }));
    app.use('/tidemark', expressMount(handler));
    return listening(createServer(app));
  },
  fastify: async (handler) => {
    const app = fastify({ forceCloseConnections: true });
    app.post('/other', (request) => ({ parsed: request.body }));
    app.register(fastifyMount(handler), { prefix: '/tidemark' });
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    return { url: `${url}/tidemark`, close: () => app.close() };
  },
  hono: (handler) => {
    const app = new Hono();
    app.post('/tidemark/:call', honoMount(handler));
    return listening(createAdaptorServer({ fetch: app.fetch }) as Server);
  },
};

let closed: string[];
let place: Place;

beforeEach(() => {
  closed = [];
});

afterEach(() => place.close());

async function* many(count: number): AsyncGenerator<ObjectEntry, void> {
  try {
    for (let n = 0; n < count; n++) yield [n, { name: `Product ${n}`, text: '€'.repeat(100) }];
    if (count === 5_000) throw new Error('the database broke');
  } finally {
    closed.push(`query of ${count}`);
  }
}

const handler = createHandler({
  secret: SECRET,
  authenticate: ({ login }) => (login === 'ada' ? {} : null),
  sources: {
    Product: {
      query: ({ partition }) => many(Number(partition)),
      create: ({ attributes }) => {
        if (attributes.name === 'bad') throw new Rejected('no');
        return { id: `made-${String(attributes.name)}` };
      },
    },
  },
  onError: () => undefined,
});

function post(name: string, body: unknown, secret = SECRET): Promise<Response> {
  const text = JSON.stringify(body);
  const [id, timestamp] = [randomUUID(), String(Math.floor(Date.now() / 1_000))];
  const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${text}`).digest('base64');
  return fetch(`${place.url}/${name}`, {
    method: 'POST',
    body: text,
    headers: {
      'content-type': 'application/json',
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,${signature}`,
    },
  });
}

const create = (name: string) => ({ source: 'Product', user_id: 'ada', op_id: name, id: 'tmp', attributes: { name } });
const query = (count: number) => ({ source: 'Product', user_id: null, partition: String(count) });

describe.each(Object.entries(MOUNTS))('%s', (_, mount) => {
  beforeEach(async () => {
    place = await mount(handler);
  });

  it('[BSDK-15] answers calls with what the handler says', async () => {
    const made = await post('create', create('compass ä€😀'));
    expect([made.status, await made.json()]).toEqual([200, { id: 'made-compass ä€😀' }]);
    const rejected = await post('create', create('bad'));
    expect([rejected.status, await rejected.json()]).toMatchObject([422, { code: 'rejected', detail: 'no' }]);
    expect((await post('authenticate', { login: 'eve', password: 'x' })).status).toBe(401);
    expect((await post('authenticate', { login: 'ada', password: 'x' })).status).toBe(200);
  });

  it('[BSDK-15] refuses what is not signed by who should have signed it', async () => {
    const refused = await post('create', create('compass'), 'another secret');
    expect([refused.status, await refused.json()]).toMatchObject([401, { code: 'signature_invalid' }]);
    expect((await fetch(`${place.url}/create`, { method: 'POST', body: '{}' })).status).toBe(401);
  });

  it('[BSDK-15] streams large answers whole', async () => {
    const answer = await post('query', query(4_000));
    const objects = (await answer.json()) as Record<string, unknown>;
    expect([answer.status, Object.keys(objects).length]).toEqual([200, 4_000]);
    expect(closed).toEqual(['query of 4000']);
  });

  it('[BSDK-15] an answer that fails half-way breaks off, so that nobody takes it for whole', async () => {
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const answer = await post('query', query(5_000));
    expect(answer.status).toBe(200);
    // Some servers break the connection, some only end early: either way the JSON has no end.
    await expect(answer.json()).rejects.toThrow();
    said.mockRestore();
  });

  it('[BSDK-15] stops asking for objects when nobody reads them any more', async () => {
    const answer = await post('query', query(1_000_000));
    await answer.body?.cancel();
    await vi.waitUntil(() => closed.length > 0, { timeout: 500_000 });
    expect(closed).toEqual(['query of 1000000']);
  });
});

it('[BSDK-15] Express after a parser that threw the bytes away: told, not guessed', async () => {
  const app = express();
  app.use(express.json());
  app.use('/tidemark', expressMount(handler));
  place = await listening(createServer(app));
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined);
  const answer = await post('create', create('compass'));
  expect(answer.status).toBe(500);
  expect(said.mock.calls.flat().join()).toMatch(/mount the handler before the parser/);
  said.mockRestore();
});

it('[BSDK-15] Fastify keeps its own parsers everywhere else', async () => {
  place = await (MOUNTS.fastify as (handler: Handler) => Promise<Place>)(handler);
  const answer = await fetch(place.url.replace(/tidemark$/, 'other'), {
    method: 'POST',
    body: '{"a":1}',
    headers: { 'content-type': 'application/json' },
  });
  expect(await answer.json()).toEqual({ parsed: { a: 1 } });
});

it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('[BSDK-16] node:http: %s is refused', async (method) => {
  place = await listening(createServer(nodeListener(handler)));
  const answer = await fetch(`${place.url}/query`, { method });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
});
