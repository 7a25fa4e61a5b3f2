import { connect } from 'node:net';
import { parentPort, Worker, workerData } from 'node:worker_threads';

/** Many equal requests over a few connections, sent from another thread, so that sending costs the server nothing. */
export interface Load {
  readonly port: number;
  /** A whole request, head and body. */
  readonly request: string;
  readonly connections: number;
  readonly requests: number;
}

/** Milliseconds from the first request to the last answer. Every answer must be a 200. */
export function sendLoad(load: Load): Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: load });
  return new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
}

async function run({ port, request, connections, requests }: Load): Promise<number> {
  const start = performance.now();
  const share = Math.floor(requests / connections);
  await Promise.all(Array.from({ length: connections }, () => runConnection(port, request, share)));
  return performance.now() - start;
}

/** One request at a time on a connection that stays open. */
function runConnection(port: number, request: string, requests: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1');
    let left = requests;
    let received = '';
    socket.setNoDelay(true);
    socket.on('error', reject);
    socket.on('connect', () => socket.write(request));
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

if (parentPort !== null) parentPort.postMessage(await run(workerData as Load));
