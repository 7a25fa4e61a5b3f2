import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { Rng, seededRandom } from '@tidemark/testing/kit';

/** What may go wrong with a request, with its chance in percent while faults are on. */
const FAULTS = [
  ['cut_before', 10],
  ['cut_after', 14],
  ['cut_mid_body', 10],
  ['delayed', 10],
  ['doubled', 8],
  ['none', 48],
] as const;
type Fault = (typeof FAULTS)[number][0];

/** Few faults, and none that sends a request twice: for callers whose requests then have another effect. */
export const FEW_FAULTS: readonly (readonly [Fault, number])[] = [
  ['cut_before', 3],
  ['cut_after', 6],
  ['cut_mid_body', 4],
  ['delayed', 12],
  ['none', 75],
];

/** Changes the body of a request on its way to the server, to plant a bug. */
export type Corrupt = (path: string, body: Buffer) => Buffer;

const DELAY_MS_MAX = 60;
const STREAM_MS_MAX = 400;

export interface Forwarded {
  readonly device: number;
  readonly path: string;
  readonly body: Buffer;
}

export interface ProxyOptions {
  readonly seed: number;
  /** Returns the present address of the server. */
  readonly target: () => string;
  /** Called for every request that is about to reach the server. */
  readonly onForward?: (forwarded: Forwarded) => void;
  readonly corrupt?: Corrupt;
  /** What may go wrong while faults are on. Absent: everything. */
  readonly faults?: readonly (readonly [Fault, number])[];
}

/** Says which device sent a request. The proxy removes it. */
export const DEVICE_HEADER = 'x-simulated-device';

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/**
 * An HTTP proxy between devices and a server that injects faults: it cuts connections before a request is sent, after the
 * server has answered, and in the middle of a response; it delays requests and sends them twice.
 */
export class FaultProxy {
  readonly #options: ProxyOptions;
  readonly #rng: Rng;
  readonly #server: Server;
  hasFaults = false;
  #isCut = false;
  #openRequests = 0;

  private constructor(options: ProxyOptions) {
    this.#options = options;
    this.#rng = new Rng(seededRandom(options.seed ^ 0xfa17));
    this.#server = createServer((incoming, outgoing) => {
      this.#handle(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async open(options: ProxyOptions): Promise<FaultProxy> {
    const proxy = new FaultProxy(options);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** How many requests the server has not answered yet, whether or not their callers still wait. */
  get openRequests(): number {
    return this.#openRequests;
  }

  /** Closes all connections of callers, and every new one until `restore`. Requests that the server has got go on. */
  cut(): void {
    this.#isCut = true;
    this.#server.closeAllConnections();
  }

  restore(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { url: path = '/', headers } = incoming;
    if (this.#isCut) return void outgoing.destroy();
    const body = await buffer(incoming);
    const fault = this.#drawFault();
    if (path.split('?')[0]?.endsWith('/events')) return this.#forwardStream(incoming, outgoing, fault);
    if (fault === 'cut_before') return void outgoing.destroy();
    if (fault === 'delayed') await delay(this.#rng.below(DELAY_MS_MAX));
    const sent = this.#options.corrupt?.(path, body) ?? body;
    const device = Number(headers[DEVICE_HEADER]);
    const forward = () => {
      this.#options.onForward?.({ device, path, body: sent });
      this.#openRequests++;
      return this.#ask(incoming, sent).finally(() => {
        this.#openRequests--;
      });
    };
    // Both are sent at once, so the server may take them in either order.
    const [answer] = await Promise.all(fault === 'doubled' ? [forward(), forward()] : [forward()]);
    this.#answer(outgoing, answer, fault);
  }

  #answer(outgoing: ServerResponse, { status, headers, body }: Answer, fault: Fault): void {
    if (fault === 'cut_after') return void outgoing.destroy();
    outgoing.writeHead(status, headers);
    if (fault !== 'cut_mid_body' || body.length < 2) return void outgoing.end(body);
    outgoing.write(body.subarray(0, this.#rng.between(1, body.length - 1)), () => outgoing.destroy());
  }

  #ask(incoming: IncomingMessage, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const outgoing = request(this.#requestOptions(incoming, body), (answer) => {
        buffer(answer).then(
          (whole) => resolve({ status: answer.statusCode ?? 500, headers: answer.headers, body: whole }),
          reject,
        );
      });
      outgoing.once('error', reject);
      outgoing.end(body);
    });
  }

  #forwardStream(incoming: IncomingMessage, outgoing: ServerResponse, fault: Fault): void {
    if (fault === 'cut_before') return void outgoing.destroy();
    const upstream = request(this.#requestOptions(incoming, Buffer.alloc(0)), (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
      answer.once('error', () => outgoing.destroy());
      answer.once('close', () => outgoing.destroy());
    });
    upstream.once('error', () => outgoing.destroy());
    outgoing.once('close', () => upstream.destroy());
    upstream.end();
    if (fault !== 'none') void delay(this.#rng.below(STREAM_MS_MAX)).then(() => outgoing.destroy());
  }

  #requestOptions({ method, url, headers: given }: IncomingMessage, body: Buffer) {
    const { [DEVICE_HEADER]: _, connection: __, 'content-length': ___, 'transfer-encoding': ____, ...rest } = given;
    const { hostname, port, host } = new URL(this.#options.target());
    const length = body.length > 0 ? { 'content-length': String(body.length) } : {};
    return { hostname, port, method, path: url, headers: { ...rest, ...length, host } };
  }

  #drawFault(): Fault {
    const fault = this.#rng.weighted<Fault>(this.#options.faults ?? FAULTS);
    return this.hasFaults ? fault : 'none';
  }
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
