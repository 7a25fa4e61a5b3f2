import { errorMessage } from '@tidemark/protocol';
import type { Platform } from '../ports/platform.ts';

/**
 * Returns why no request has been answered yet. Browsers tell scripts nothing but "Failed to fetch", whether the server is
 * down or does not list the origin of the page. A `no-cors` request, whose answer no script can read, needs no permission of
 * the server and tells the two apart.
 */
export async function explainFailure(platform: Platform, url: string, cause: unknown, signal: AbortSignal) {
  const page = platform.network?.pageOrigin;
  if (page !== undefined && page !== new URL(url).origin && (await isThere(platform, url, signal)))
    return `the server at ${url} is there, but does not list the origin of this page: add ${page} to its setting devices.origins`;
  return noAnswer(url, cause);
}

export function noAnswer(url: string, cause: unknown): string {
  return `no answer from ${url}: the server is down, or cannot be reached from here (${errorMessage(cause)})`;
}

function isThere(platform: Platform, url: string, signal: AbortSignal): Promise<boolean> {
  return platform.fetch(`${url}/healthz`, { mode: 'no-cors', credentials: 'omit', signal }).then(
    () => true,
    () => false,
  );
}
