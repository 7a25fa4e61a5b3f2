import { Agent, type IncomingHttpHeaders, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

/** A request as it is sent: the path is not normalised, and only headers that HTTP needs are added. */
export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | Buffer | null;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

/** A server that does not answer within this time hangs, which fails the test. */
const ANSWER_MS_MAX = 300_000;
const SOCKETS_MAX = 8;

/** Sends HTTP requests to one server over persistent connections. Unlike `fetch` it sends any path and any header. */
export class Sender {
  readonly #base: URL;
  readonly #agent: Agent | SecureAgent;
  readonly #isSecure: boolean;

  constructor(url: string) {
    this.#base = new URL(url);
    this.#isSecure = this.#base.protocol === 'https:';
    const options = { keepAlive: true, maxSockets: SOCKETS_MAX };
    this.#agent = this.#isSecure ? new SecureAgent(options) : new Agent(options);
  }

  send({ method, path, headers, body }: Outgoing): Promise<Answer> {
    const prefix = this.#base.pathname.replace(/\/$/, '');
    const length = body === null ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    const options = {
      method,
      host: this.#base.hostname.replace(/^\[|\]$/g, ''),
      port: this.#base.port || (this.#isSecure ? 443 : 80),
      path: prefix + path,
      headers: { host: this.#base.host, ...length, ...headers },
      agent: this.#agent,
    };
    return new Promise((resolve, reject) => {
      const request = (this.#isSecure ? requestHttps : requestHttp)(options, (response) => {
        readAnswer(response).then(resolve, reject);
      });
      request.setTimeout(ANSWER_MS_MAX, () => request.destroy(new Error(`no answer within ${ANSWER_MS_MAX} ms`)));
      request.on('error', reject);
      request.end(body ?? undefined);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

async function readAnswer(response: IncomingMessage): Promise<Answer> {
  const chunks: Buffer[] = [];
  const isEndless = response.headers['content-type']?.startsWith('text/event-stream') === true;
  for await (const chunk of response) {
    chunks.push(chunk as Buffer);
    // The answer of an endless event stream is its first event.
    if (isEndless && Buffer.concat(chunks).includes('\n\n')) break;
  }
  const text = decoded(Buffer.concat(chunks), response.headers['content-encoding']).toString('utf8');
  return { status: response.statusCode ?? 0, headers: response.headers, text };
}

function decoded(bytes: Buffer, coding: string | undefined): Buffer {
  if (coding === 'gzip') return gunzipSync(bytes);
  return coding === 'br' ? brotliDecompressSync(bytes) : bytes;
}
