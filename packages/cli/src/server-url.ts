import { isLoopback } from '@tidemark/server/config/config-warnings';
import { usageFailure } from './cli-failure.ts';

export const DEFAULT_URL = 'http://127.0.0.1:9292';

/** Normalises the URL of a server, so that the token stored for it is found again. A path prefix is allowed. */
export function serverUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || (url.protocol !== 'http:' && url.protocol !== 'https:') || url.search !== '' || url.hash !== '') {
    throw usageFailure(
      `${JSON.stringify(text)} is not the URL of a server`,
      `it looks like ${DEFAULT_URL} or https://sync.example`,
    );
  }
  if (url.username !== '' || url.password !== '') {
    throw usageFailure('a URL must not carry a login or password', 'use tidemark login');
  }
  return `${url.origin}${url.pathname.replace(/\/+$/, '')}`;
}

/** True when the token would travel unencrypted over a network. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
