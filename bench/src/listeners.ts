import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';

/** Devices that listen for events, in a process of their own, so that they cost the server's process nothing. */
export interface Listeners {
  /** How long after `sinceMs` (by the clock all processes share) each of them heard of a change, sorted. */
  heard(): Promise<readonly number[]>;
  close(): void;
}

interface Order {
  readonly port: number;
  readonly tokens: readonly string[];
  /** Default: the event stream of Tidemark, without pages. */
  readonly path?: string;
}

type Message = { readonly kind: 'ready' } | { readonly kind: 'heard'; readonly atMs: readonly number[] };

/** Resolves when all of them listen. */
export async function startListeners(order: Order): Promise<Listeners> {
  const child = fork(fileURLToPath(import.meta.url), { serialization: 'advanced' });
  child.send(order);
  await messageOf(child, 'ready');
  return {
    async heard() {
      const message = await messageOf(child, 'heard');
      return message.kind === 'heard' ? message.atMs : [];
    },
    close: () => void child.kill(),
  };
}

async function messageOf(child: ChildProcess, kind: Message['kind']): Promise<Message> {
  const [message] = (await once(child, 'message')) as [Message];
  if (message.kind !== kind) throw new Error(`the listeners said ${message.kind}, not ${kind}`);
  return message;
}

/** In the child: one socket for each token; whoever has heard of a change says when. */
async function listenAll({ port, tokens, path = '/sync/v1/events' }: Order): Promise<void> {
  let heard: number[] = [];
  const onChange = () => {
    heard.push(performance.timeOrigin + performance.now());
    if (heard.length < tokens.length) return;
    process.send?.({ kind: 'heard', atMs: heard } satisfies Message);
    heard = [];
  };
  const sockets: Socket[] = [];
  for (const token of tokens) sockets.push(await listen({ port, path, token }, onChange));
  process.send?.({ kind: 'ready' } satisfies Message);
}

async function listen(
  { port, path, token }: { readonly port: number; readonly path: string; readonly token: string },
  onChange: () => void,
): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`);
  let text = '';
  await new Promise<void>((resolve, reject) => {
    socket.on('error', reject);
    socket.on('close', () => reject(new Error(`the stream was closed: ${text}`)));
    socket.on('data', (chunk) => {
      const part = chunk.toString('latin1');
      if (part.includes('event: changed')) return onChange();
      text += part;
      if (text.includes('event: ready')) resolve();
    });
  });
  return socket;
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (order: Order) => void listenAll(order));
}
