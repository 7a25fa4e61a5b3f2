import { createDecipheriv, createECDH, createPublicKey, hkdfSync } from 'node:crypto';
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { TEST_ONLY_CERTIFICATE, TEST_ONLY_PRIVATE_KEY } from './test-only-certificate.ts';
import { verifyJwt } from './verify-jwt.ts';

export interface WebPushRequest {
  readonly browser: string;
  readonly headers: IncomingHttpHeaders;
  /** Decrypted with the key of the browser. */
  readonly payload: string;
}

/** `cut`: accepts the message, then drops the connection. `silence`: accepts it and never answers. */
export type WebPushBehaviour =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | 'cut'
  | 'silence';

export interface WebPushStandInOptions {
  /** The public key of the server, which every subscription names. */
  readonly publicKey: string;
  readonly nowMs?: () => number;
  readonly behave?: (request: WebPushRequest, index: number) => WebPushBehaviour;
}

export interface WebPushStandIn {
  readonly origin: string;
  readonly taken: readonly WebPushRequest[];
  /** Subscribes a new browser and returns the subscription as JSON. */
  subscribe(): string;
  close(): Promise<void>;
}

interface Browser {
  readonly ecdh: ReturnType<typeof createECDH>;
  readonly auth: Buffer;
}

const BODY_BYTES_MAX = 4_096;
const DAY_S = 86_400;
const OK: WebPushBehaviour = { status: 201 };

/** Opens a push service and its browsers on loopback. It checks what RFC 8030 and 8292 demand, and decrypts. */
export async function openWebPushStandIn(options: WebPushStandInOptions): Promise<WebPushStandIn> {
  const service = new Service(options);
  const server = createServer({ key: TEST_ONLY_PRIVATE_KEY, cert: TEST_ONLY_CERTIFICATE }, (request, response) => {
    void service.answer(request, response);
  });
  const sockets = new Set<Socket>();
  server.on('secureConnection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  service.origin = `https://localhost:${(server.address() as AddressInfo).port}`;
  return {
    origin: service.origin,
    get taken() {
      return service.taken;
    },
    subscribe: () => service.subscribe(),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

class Service {
  readonly taken: WebPushRequest[] = [];
  origin = '';
  readonly #options: WebPushStandInOptions;
  readonly #browsers = new Map<string, Browser>();

  constructor(options: WebPushStandInOptions) {
    this.#options = options;
  }

  subscribe(): string {
    const ecdh = createECDH('prime256v1');
    ecdh.generateKeys();
    const name = `b${this.#browsers.size}`;
    const auth = Buffer.from(name.padEnd(16, '.'));
    this.#browsers.set(`/push/${name}`, { ecdh, auth });
    const keys = { p256dh: ecdh.getPublicKey('base64url'), auth: auth.toString('base64url') };
    return JSON.stringify({ endpoint: `${this.origin}/push/${name}`, expirationTime: null, keys });
  }

  async answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const status = this.#flawOf(request, Buffer.concat(chunks));
    if (status !== null) response.writeHead(status).end();
    else this.#take(request, response, Buffer.concat(chunks));
  }

  #take(request: IncomingMessage, response: ServerResponse, body: Buffer): void {
    const name = request.url ?? '';
    const browser = this.#browsers.get(name);
    if (browser === undefined) throw new Error('nobody subscribed');
    const taken = { browser: name, headers: request.headers, payload: decrypt(body, browser) };
    const behaviour = this.#options.behave?.(taken, this.taken.length) ?? OK;
    this.taken.push(taken);
    if (behaviour === 'cut') request.socket.destroy();
    else if (behaviour !== 'silence') response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body);
  }

  #flawOf({ method, url, headers }: IncomingMessage, body: Buffer): number | null {
    if (method !== 'POST') return 405;
    if (!this.#browsers.has(url ?? '')) return 404;
    if (!this.#isAuthorized(headers.authorization ?? '')) return 403;
    if (!/^[0-9]{1,9}$/.test(String(headers.ttl)) || headers['content-encoding'] !== 'aes128gcm') return 400;
    if (!/^[A-Za-z0-9_-]{1,32}$/.test(String(headers.topic))) return 400;
    if (!['very-low', 'low', 'normal', 'high'].includes(String(headers.urgency))) return 400;
    return body.length > BODY_BYTES_MAX ? 413 : null;
  }

  #isAuthorized(authorization: string): boolean {
    const [, token = '', key = ''] = /^vapid t=(\S+), k=(\S+)$/.exec(authorization) ?? [];
    if (key !== this.#options.publicKey) return false;
    const claims = verifyJwt(token, publicKeyOf(key), 'ES256')?.claims;
    const nowS = (this.#options.nowMs?.() ?? Date.now()) / 1_000;
    const exp = Number(claims?.exp);
    return (
      claims?.aud === this.origin && exp > nowS && exp <= nowS + DAY_S && /^(?:mailto:|https:)/.test(String(claims.sub))
    );
  }
}

function publicKeyOf(text: string) {
  const point = Buffer.from(text, 'base64url');
  const [x, y] = [point.subarray(1, 33).toString('base64url'), point.subarray(33).toString('base64url')];
  return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
}

/** Decrypts as RFC 8188 and 8291 describe, without the code that encrypts. */
function decrypt(body: Buffer, { ecdh, auth }: Browser): string {
  const salt = body.subarray(0, 16);
  const idLength = body.readUInt8(20);
  const sender = body.subarray(21, 21 + idLength);
  const record = body.subarray(21 + idLength);
  const hkdf = (secret: Buffer, by: Buffer, info: Buffer, bytes: number) =>
    Buffer.from(hkdfSync('sha256', secret, by, info, bytes));
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), ecdh.getPublicKey(), sender]);
  const secret = hkdf(ecdh.computeSecret(sender), auth, info, 32);
  const key = hkdf(secret, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = hkdf(secret, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const decipher = createDecipheriv('aes-128-gcm', key, nonce);
  decipher.setAuthTag(record.subarray(-16));
  const plain = Buffer.concat([decipher.update(record.subarray(0, -16)), decipher.final()]);
  const end = plain.lastIndexOf(2);
  if (end < 0 || plain.subarray(end + 1).some((byte) => byte !== 0)) throw new Error('the padding is wrong');
  return plain.subarray(0, end).toString('utf8');
}
