import { Refusal } from '@tidemark/protocol';
import type { FastifyRequest } from 'fastify';

const NAME = 'tidemark_session';
/** Browsers accept a cookie with this prefix only from the host itself, over HTTPS: no other host can plant one. */
const HOST_PREFIX = '__Host-';
/**
 * Every call of the console carries this header. Forms, links and images of other sites cannot send it, and their
 * scripts would need a permission that this server never gives to `/rc/v1`.
 */
const HEADER = 'x-tidemark-console';

type CookieRequest = Pick<FastifyRequest, 'headers' | 'host' | 'isSecure'>;

/** Returns the name under which a cookie is set and read. */
export function cookieName(name: string, isSecure: boolean): string {
  return isSecure ? HOST_PREFIX + name : name;
}

/** Returns the token in the session cookie, or null. The cookie counts only in calls of the server's own pages. */
export function sessionToken(request: CookieRequest): string | null {
  const token = cookieIn(request.headers.cookie ?? '', cookieName(NAME, request.isSecure));
  if (token === null || request.headers[HEADER] === undefined) return null;
  requireOwnPage(request);
  return token;
}

/** Whether the console makes the call, whose pages may fetch from this server only. */
export function isFromConsole({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers[HEADER] !== undefined;
}

/** Refuses a call that does not come from a page of this server. */
export function requireOwnPage(request: CookieRequest): void {
  const { headers } = request;
  if (headers[HEADER] === undefined) {
    throw new Refusal('forbidden', `a session needs the header ${HEADER}; programs send a token instead`);
  }
  if (isOwnOrigin(request)) return;
  throw new Refusal('forbidden', 'a session can be used only by pages of this server, not by those of another origin');
}

/** Browsers set `Origin` and `Sec-Fetch-Site` themselves. The latter helps where a proxy has changed the host. */
function isOwnOrigin({ headers: { origin, 'sec-fetch-site': site }, host }: CookieRequest): boolean {
  if (site !== undefined) return site === 'same-origin';
  if (origin === undefined) return true;
  return URL.canParse(origin) && new URL(origin).host === new URL(`http://${host}`).host;
}

/** Returns the value of a cookie in the header `Cookie`, or null. */
export function cookieIn(header: string, wanted: string): string | null {
  for (const pair of header.split(';')) {
    const [name = '', value = ''] = pair.split('=', 2);
    if (name.trim() === wanted) return value.trim() === '' ? null : value.trim();
  }
  return null;
}

export interface CookieOptions {
  /** True: the browser sends the cookie over HTTPS only. */
  readonly isSecure: boolean;
  /** Null: the cookie ends with the browser. */
  readonly maxAgeS: number | null;
}

/** Returns the value of `Set-Cookie` that starts a session. */
export function sessionCookie(token: string, { isSecure, maxAgeS }: CookieOptions): string {
  const age = maxAgeS === null ? '' : `; Max-Age=${maxAgeS}`;
  const secure = isSecure ? '; Secure' : '';
  return `${cookieName(NAME, isSecure)}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}${age}`;
}

/** Returns the value of `Set-Cookie` that ends a session. */
export function endedCookie(isSecure: boolean): string {
  return sessionCookie('', { isSecure, maxAgeS: 0 });
}
