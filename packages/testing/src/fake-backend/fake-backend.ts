import { createHmac, timingSafeEqual } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { parseJson } from '@tidemark/protocol';

/** A call that reached the backend, whatever it answered. */
export interface BackendRequest {
  readonly call: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
  readonly isSigned: boolean;
}

/** Answers a call. It may leave the response open, or cut it. */
export type BackendAnswer = (request: BackendRequest, response: ServerResponse) => unknown;

export interface FakeBackend {
  /** The `adapter_url` of this backend. */
  readonly url: string;
  readonly requests: readonly BackendRequest[];
  /** Connections made so far. */
  readonly connections: number;
  /** Sets the answer of a call; `*` answers all others. */
  on(call: string, answer: BackendAnswer): void;
  callsOf(call: string): readonly BackendRequest[];
  /** Cuts all connections and accepts no more. */
  close(): Promise<void>;
}

/** Opens a backend on loopback that speaks the real protocol and answers as configured. */
export async function openFakeBackend(secret: () => string | Promise<string>): Promise<FakeBackend> {
  const requests: BackendRequest[] = [];
  const answers = new Map<string, BackendAnswer>();
  const sockets = new Set<Socket>();
  let connections = 0;
  const server = createServer((request, response) => {
    void receive(request, secret).then((received) => {
      requests.push(received);
      const answer = answers.get(received.call) ?? answers.get('*') ?? notFound;
      return answer(received, response);
    });
  });
  server.on('connection', (socket: Socket) => {
    connections++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const port = await listen(server);
  return {
    url: `http://127.0.0.1:${port}/tidemark`,
    requests,
    get connections() {
      return connections;
    },
    on: (call, answer) => void answers.set(call, answer),
    callsOf: (call) => requests.filter((request) => request.call === call),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

export function answerJson(response: ServerResponse, value: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

const notFound: BackendAnswer = (_request, response) => response.writeHead(404).end();

async function receive(request: IncomingMessage, secret: () => string | Promise<string>): Promise<BackendRequest> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString('utf8');
  return {
    call: (request.url ?? '').split('/').at(-1) ?? '',
    body: parseJson(text) as Record<string, unknown>,
    text,
    headers: request.headers,
    isSigned: isSigned(await secret(), request.headers, text),
  };
}

/** Implemented from the standard, without the code that signs. */
function isSigned(secret: string, headers: IncomingHttpHeaders, body: string): boolean {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), secret.startsWith('whsec_') ? 'base64' : 'utf8');
  const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`;
  const expected = createHmac('sha256', key).update(content).digest();
  const [version, given = ''] = String(headers['webhook-signature']).split(',');
  const signature = Buffer.from(given, 'base64');
  return version === 'v1' && signature.length === expected.length && timingSafeEqual(signature, expected);
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}
