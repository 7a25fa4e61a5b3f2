import { Agent, type IncomingMessage, request } from 'node:http';
import { gunzipSync } from 'node:zlib';
import type { BenchDevice } from './device-fixture.ts';

/** An answer with what it took on the wire. */
export interface WireAnswer {
  readonly body: Buffer;
  /** Head and body, as they came over the socket. */
  readonly wireBytes: number;
}

/** A device of a benchmark: one connection that stays open, one request at a time. */
export class DeviceConnection {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });
  readonly #url: string;
  readonly #accepts: Readonly<Record<string, string>>;
  readonly device: BenchDevice;
  /** Of all answers so far. */
  wireBytes = 0;

  /** `coding`: what it takes instead of bodies as they are. */
  constructor(url: string, device: BenchDevice, coding?: 'gzip') {
    this.#url = url;
    this.#accepts = coding === undefined ? {} : { 'accept-encoding': coding };
    this.device = device;
  }

  /** Tokens by source. */
  pull(tokens: Readonly<Record<string, string | null>>): Promise<WireAnswer> {
    return this.send('POST', '/sync/v1/pull', this.pullBody(tokens));
  }

  pullBody(tokens: Readonly<Record<string, string | null>>): string {
    const sources = Object.fromEntries(Object.entries(tokens).map(([name, token]) => [name, { token }]));
    return JSON.stringify({ client_id: this.device.client, sources });
  }

  /** The token of a device that holds everything. */
  async lastToken(source: string): Promise<string> {
    const last = (await this.catchUp(source)).at(-1);
    if (last === undefined) throw new Error('there was no page');
    return placeIn(last).token;
  }

  /** Every page of a source as it came, until there is no more. */
  async catchUp(source: string, from: string | null = null): Promise<readonly Buffer[]> {
    const bodies: Buffer[] = [];
    for (let token = from, more = true; more; ) {
      const { body } = await this.pull({ [source]: token });
      bodies.push(body);
      ({ token, more } = placeIn(body));
    }
    return bodies;
  }

  async send(method: string, path: string, body: string): Promise<WireAnswer> {
    const headers = {
      authorization: `Bearer ${this.device.token}`,
      ...this.#accepts,
      ...(method === 'POST' ? { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) } : {}),
    };
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      request(this.#url + path, { method, agent: this.#agent, headers }, resolve)
        .on('error', reject)
        .end(body);
    });
    const chunks: Buffer[] = [];
    for await (const chunk of response) chunks.push(chunk as Buffer);
    const whole = Buffer.concat(chunks);
    const plain = response.headers['content-encoding'] === 'gzip' ? gunzipSync(whole) : whole;
    if (response.statusCode !== 200) throw new Error(plain.toString());
    const wireBytes = headBytes(response) + whole.length;
    this.wireBytes += wireBytes;
    return { body: plain, wireBytes };
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** The head as it was written, names and values and what stands between them. */
function headBytes({ rawHeaders, statusMessage = '' }: IncomingMessage): number {
  return rawHeaders.reduce((bytes, text) => bytes + text.length + 2, `HTTP/1.1 200 ${statusMessage}\r\n\r\n`.length);
}

/** Where a first and only page ended, without parsing what is in it. */
export function placeIn(body: Buffer): { readonly token: string; readonly more: boolean } {
  const head = body.subarray(0, 400).toString('latin1');
  const [, token, more] = /"token":"([^"]+)","more":(true|false)/.exec(head) ?? [];
  if (token === undefined) throw new Error(`no page in ${head}`);
  return { token, more: more === 'true' };
}
