import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { parentPort, Worker } from 'node:worker_threads';

/** Many equal requests over a few connections, sent from another thread, so that sending costs the server nothing. */
export interface Load {
  readonly port: number;
  /** A whole request, head and body. */
  readonly request: string;
  readonly connections: number;
  readonly requests: number;
}

export interface Sent {
  /** From the first request to the last answer, once all connections were open. */
  readonly elapsedMs: number;
  /** How much of that time the sender itself had something to do: near 1, it is the sender that is measured. */
  readonly busy: number;
}

/** Sends one load after the other and stays warm in between. */
export class LoadSender {
  readonly #worker = new Worker(new URL(import.meta.url));

  /** Every answer must be a 200. */
  send(load: Load): Promise<Sent> {
    const worker = this.#worker;
    return new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', (sent: Sent) => {
        worker.off('error', reject);
        resolve(sent);
      });
      worker.postMessage(load);
    });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }
}

/** Milliseconds from the first request to the last answer, of one load alone. */
export async function sendLoad(load: Load): Promise<number> {
  const sender = new LoadSender();
  const { elapsedMs } = await sender.send(load);
  await sender.close();
  return elapsedMs;
}

async function run({ port, request, connections, requests }: Load): Promise<Sent> {
  const sockets = await Promise.all(Array.from({ length: connections }, () => openSocket(port)));
  const share = Math.floor(requests / connections);
  const before = performance.eventLoopUtilization();
  const start = performance.now();
  await Promise.all(sockets.map((socket) => runConnection(socket, request, share)));
  return { elapsedMs: performance.now() - start, busy: performance.eventLoopUtilization(before).utilization };
}

async function openSocket(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket.setNoDelay(true);
}

/** One request at a time on a connection that stays open. */
function runConnection(socket: Socket, request: string, requests: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = requests;
    let received = '';
    socket.on('error', reject);
    socket.on('data', (chunk) => {
      received += chunk.toString('latin1');
      const end = answerEnd(received);
      if (end === null) return;
      if (!received.startsWith('HTTP/1.1 200')) return reject(new Error(received.slice(0, 500)));
      received = '';
      if (--left > 0) return void socket.write(request);
      socket.end();
      resolve();
    });
    socket.write(request);
  });
}

/** Where the answer ends, once all of it is there. */
function answerEnd(text: string): number | null {
  const head = text.indexOf('\r\n\r\n');
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  if (head === -1 || length === undefined) return null;
  const end = head + 4 + Number(length);
  return text.length >= end ? end : null;
}

const parent = parentPort;
parent?.on('message', async (load: Load) => parent.postMessage(await run(load)));
