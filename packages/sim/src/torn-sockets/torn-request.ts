import type { DeviceSession } from '@tidemark/protocol';
import { type Dice, drawRequest, type Endpoint } from '@tidemark/testing/kit';

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
export function drawTornBytes(target: TornTarget, dice: Dice): string {
  const ahead = dice.chance(2) ? AHEAD_TOO_MANY : dice.chance(40) ? dice.between(1, AHEAD_MAX) : 0;
  const before = Array.from({ length: ahead }, () => drawHeavy(target, dice)).join('');
  const last = dice.chance(50) ? drawHeavy(target, dice) : drawAny(target, dice);
  return before + (dice.chance(40) ? last.slice(0, dice.below(last.length)) : last);
}

/** Draws an expensive request: a file, a stream, a large answer or a large body. */
function drawHeavy({ devices, adminToken }: TornTarget, dice: Dice): string {
  const { token, client_id } = dice.pick(devices);
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
    () => bytesOf({ ...store, token: adminToken, body: padded({ data: 'x' }, dice) }),
    () => bytesOf({ ...store, token: 'nobody', body: padded({ data: 'x' }, dice) }),
    () => bytesOf({ ...login, body: padded({ login: 'x', password: 'y' }, dice) }),
    () => bytesOf({ ...store, token: adminToken, headers: [BODY_TO_COME] }),
  ];
  return dice.pick(drawn)();
}

/** Draws a valid or nearly valid request of any route in the API description. */
function drawAny({ endpoints, devices, adminToken }: TornTarget, dice: Dice): string {
  const endpoint = dice.pick(endpoints);
  const token = endpoint.template.startsWith('/sync/') ? dice.pick(devices).token : adminToken;
  const { method, path, headers, body } = drawRequest(endpoint, token, dice);
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

function padded(body: unknown, dice: Dice): string {
  return JSON.stringify(body) + ' '.repeat(dice.below(PADDING_BYTES_MAX));
}
