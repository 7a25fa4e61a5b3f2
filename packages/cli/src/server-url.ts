import { isLoopback } from '@tidemark/server/config/config-warnings';
import { usageFailure } from './cli-failure.ts';

export const DEFAULT_URL = 'http://127.0.0.1:9292';

/** The URL of a server in one spelling, so that a token kept for it is found again. A path in front is allowed. */
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

/** Whether somebody on the way could read the token. */
export function isExposed(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !isLoopback(hostname);
}
