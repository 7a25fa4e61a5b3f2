import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TidemarkClient } from '@tidemark/backend';
import type { ConnectedData } from './demo-data.ts';
import { Observer } from './observer.ts';
import type { TidemarkServer } from './tidemark-server.ts';
import type { Routes } from './web-server.ts';

export interface ControlParts {
  readonly server: TidemarkServer;
  readonly tidemark: TidemarkClient;
  readonly data: ConnectedData;
  /** What the page needs to open its devices. */
  readonly session: {
    readonly instance: string;
    readonly url: string;
    readonly password: string;
    readonly adminPassword: string;
    readonly command: string | null;
  };
}

const CLIENTS_MAX = 10;
const BODY_UNITS_MAX = 2_000;
const PING_LOOKS_MAX = 50;
const PING_LOOK_MS = 100;

/** What the page asks of the demo itself. Devices use none of this: they talk to Tidemark. */
export function controlRoutes({ server, tidemark, data, session }: ControlParts): Routes {
  return {
    'GET /demo/session': async (_request, response) => json(response, session),

    'POST /demo/kill': async (_request, response) => {
      await server.kill();
      json(response, { state: server.state });
    },

    'POST /demo/restart': async (_request, response) => {
      await server.restart();
      data.resume();
      json(response, { state: server.state });
    },

    'POST /demo/ping': async (request, response) => {
      const { user = '', message = '' } = await read(request);
      json(response, await ping(tidemark, user, message));
    },

    'GET /demo/events': async (request, response) => {
      const { searchParams } = new URL(request.url ?? '', session.url);
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
      const clients = searchParams.getAll('client').slice(0, CLIENTS_MAX);
      const observer = new Observer({ server, tidemark, data }, clients, (state) =>
        response.write(`data: ${JSON.stringify({ instance: session.instance, ...state })}\n\n`),
      );
      await once(response, 'close');
      observer.stop();
    },
  };
}

/** Sends a ping as a backend does, and returns what became of it on each device of the user. */
async function ping(tidemark: TidemarkClient, user: string, message: string): Promise<object> {
  const { ping_id } = await tidemark.users.ping({ user_id: user, sources: ['WorkOrder'], message });
  for (let looks = 0; looks < PING_LOOKS_MAX; looks++) {
    const { results } = await tidemark.pings.get(ping_id);
    if (results.length > 0 && results.every(({ status }) => status !== 'retrying')) return { results };
    await sleep(PING_LOOK_MS);
  }
  return { results: [] };
}

async function read(request: IncomingMessage): Promise<Readonly<Record<string, string>>> {
  let body = '';
  for await (const piece of request.setEncoding('utf8')) {
    body += piece;
    if (body.length > BODY_UNITS_MAX) throw new Error('the body of the request is too long');
  }
  return JSON.parse(body) as Record<string, string>;
}

function json(response: ServerResponse, value: object): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}
