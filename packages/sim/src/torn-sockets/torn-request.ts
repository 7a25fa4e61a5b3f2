import type { DeviceSession } from '@tidemark/protocol';
import { drawRequest, type Endpoint, type Rng } from '@tidemark/testing/kit';

/** A source whose pages are larger than the buffers of a socket. */
export const LARGE_SOURCE = 'Large';

export interface TornTarget {
  readonly endpoints: readonly Endpoint[];
  readonly adminToken: string;
  readonly devices: readonly Pick<DeviceSession, 'token' | 'client_id'>[];
}

const VIEWER_FILE = '/docs/api/static/swagger-ui-bundle.js';
const PADDING_BYTES_MAX = 200_000;
const AHEAD_MAX = 4;
const AHEAD_TOO_MANY = 40;

/** Draws the bytes of one connection: some pipelined requests, and a last one that may be cut anywhere. */
export function drawTornBytes(target: TornTarget, rng: Rng): string {
  const ahead = rng.chance(2) ? AHEAD_TOO_MANY : rng.chance(40) ? rng.between(1, AHEAD_MAX) : 0;
  const before = Array.from({ length: ahead }, () => drawHeavy(target, rng)).join('');
  const last = rng.chance(50) ? drawHeavy(target, rng) : drawAny(target, rng);
  return before + (rng.chance(40) ? last.slice(0, rng.below(last.length)) : last);
}

/** Draws an expensive request: a file, a stream, a large answer or a large body. */
function drawHeavy({ devices, adminToken }: TornTarget, rng: Rng): string {
  const { token, client_id } = rng.pick(devices);
  const pull = JSON.stringify({ client_id, sources: { [LARGE_SOURCE]: {} } });
  const snapshot = { method: 'GET', path: `/sync/v1/sources/${LARGE_SOURCE}/snapshot`, token };
  const store = { method: 'POST', path: '/rc/v1/store/torn' };
  const login = { method: 'POST', path: '/rc/v1/system/login' };
  const drawn: readonly (() => string)[] = [
    () => bytesOf({ method: 'GET', path: VIEWER_FILE }),
    () => bytesOf({ method: 'GET', path: '/openapi.json' }),
    () => bytesOf({ method: 'GET', path: '/sync/v1/events', token }),
    () => bytesOf(snapshot),
    () => bytesOf({ ...snapshot, headers: ['accept-encoding: gzip'] }),
    () => bytesOf({ method: 'POST', path: '/sync/v1/pull', token, body: pull }),
    () => bytesOf({ ...store, token: adminToken, body: padded({ data: 'x' }, rng) }),
    () => bytesOf({ ...store, token: 'nobody', body: padded({ data: 'x' }, rng) }),
    () => bytesOf({ ...login, body: padded({ login: 'x', password: 'y' }, rng) }),
    () => bytesOf({ ...store, token: adminToken, headers: [BODY_TO_COME] }),
  ];
  return rng.pick(drawn)();
}

/** Draws a valid or nearly valid request of any route in the API description. */
function drawAny({ endpoints, devices, adminToken }: TornTarget, rng: Rng): string {
  const endpoint = rng.pick(endpoints);
  const token = endpoint.template.startsWith('/sync/') ? rng.pick(devices).token : adminToken;
  const { method, path, headers, body } = drawRequest(endpoint, token, rng);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
  return bytesOf({ method, path, headers: lines, ...(body === null ? {} : { body: body.toString() }) });
}

interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly token?: string;
  readonly body?: string;
  readonly headers?: readonly string[];
}

/** Announces a large body that never arrives. */
const BODY_TO_COME = 'content-length: 9900000';

function bytesOf({ method, path, token, body, headers = [] }: RawRequest): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: x', ...headers];
  if (token !== undefined) lines.push(`authorization: Bearer ${token}`);
  if (!headers.some((line) => line.startsWith('content-type'))) lines.push('content-type: application/json');
  if (body !== undefined) lines.push(`content-length: ${Buffer.byteLength(body)}`);
  return `${lines.join('\r\n')}\r\n\r\n${body ?? ''}`;
}

function padded(body: unknown, rng: Rng): string {
  return JSON.stringify(body) + ' '.repeat(rng.below(PADDING_BYTES_MAX));
}
