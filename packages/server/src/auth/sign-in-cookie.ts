import type { FastifyRequest } from 'fastify';
import { SIGN_IN_MS_MAX } from '../limits.ts';
import { cookieIn, cookieName } from './session-cookie.ts';

/** A sign-in that a browser has begun. Only that browser knows it: it is kept in a cookie. */
export interface SignInAttempt {
  readonly state: string;
  readonly nonce: string;
  /** The secret of PKCE, without which the code is worth nothing. */
  readonly verifier: string;
  readonly startedAtMs: number;
}

const NAME = 'tidemark_sign_in';

/**
 * Returns the value of `Set-Cookie` that keeps a sign-in in the browser that has begun it. Nothing in it is worth
 * signing: it only has to fit what comes back from the identity provider.
 */
export function signInCookie({ state, nonce, verifier, startedAtMs }: SignInAttempt, isSecure: boolean): string {
  return cookie([state, nonce, verifier, startedAtMs].join('.'), isSecure, SIGN_IN_MS_MAX / 1_000);
}

/** Returns the value of `Set-Cookie` that ends a sign-in. */
export function endedSignInCookie(isSecure: boolean): string {
  return cookie('', isSecure, 0);
}

function cookie(value: string, isSecure: boolean, maxAgeS: number): string {
  const secure = isSecure ? '; Secure' : '';
  return `${cookieName(NAME, isSecure)}=${value}; Path=/; HttpOnly; SameSite=Strict${secure}; Max-Age=${maxAgeS}`;
}

/** Returns the sign-in that this browser has begun, or null. */
export function attemptIn(request: Pick<FastifyRequest, 'headers' | 'isSecure'>): SignInAttempt | null {
  const value = cookieIn(request.headers.cookie ?? '', cookieName(NAME, request.isSecure));
  const [state = '', nonce = '', verifier = '', startedAt = ''] = value?.split('.') ?? [];
  if (state === '' || nonce === '' || verifier === '') return null;
  return { state, nonce, verifier, startedAtMs: Number(startedAt) };
}
