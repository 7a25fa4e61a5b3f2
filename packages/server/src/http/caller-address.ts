import { isIP } from 'node:net';
import type { FastifyRequest } from 'fastify';

/** Some proxies append the port of the caller: `192.0.2.7:4711`, `[2001:db8::7]:4711`. */
const WITH_PORT = /^(?:\[([^\]]+)\]|([0-9.]+))(?::[0-9]+)?$/;

/**
 * Returns the IP address of the caller, as the proxy says if it is trusted. What the proxy says may be anything if it
 * passes headers of callers on: a text that is no address must not count as one, because limits by address could be
 * evaded by a new text in every request. The address of the connection counts instead.
 */
export function callerAddress({ ip, socket }: Pick<FastifyRequest, 'ip' | 'socket'>): string {
  if (isIP(ip) !== 0) return ip;
  const [, v6, v4] = WITH_PORT.exec(ip) ?? [];
  const plain = v6 ?? v4 ?? '';
  return isIP(plain) !== 0 ? plain : (socket.remoteAddress ?? '');
}
