import { Refusal } from '@tidemark/protocol';

/**
 * Refuses a request that names its host or its credentials twice: a proxy could have looked at the other one. Node.js
 * itself takes the first `Host` and `Authorization`, and joins other headers. Names and values alternate in the list.
 */
export function requireUnambiguous(rawHeaders: readonly string[]): void {
  let host: string | null = null;
  let authorization: string | null = null;
  let own: string | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] as string;
    const value = rawHeaders[index + 1] as string;
    // The length of the name rules out most headers quickly.
    if (name.length === 4 && name.toLowerCase() === 'host') host = single(name, host, value);
    else if (name.length === 13 && name.toLowerCase() === 'authorization')
      authorization = single(name, authorization, value);
    else if (name.length === 16 && name.toLowerCase() === 'x-sync-api-token') own = single(name, own, value);
  }
  if (own !== null && own !== '' && authorization !== null) requireSameToken(own, authorization);
}

function single(name: string, before: string | null, value: string): string {
  if (before !== null) throw new Refusal('invalid_request', `the header ${name} may be sent only once`);
  return value;
}

/** Credentials of other schemes are for a proxy and are ignored. */
function requireSameToken(own: string, authorization: string): void {
  const bearer = bearerToken(authorization);
  if (bearer === null || bearer === own) return;
  throw new Refusal('invalid_request', 'X-Sync-API-TOKEN and Authorization hold different tokens; send one of them');
}

/** Returns the token of an `Authorization: Bearer` header, or null. */
export function bearerToken(authorization: string): string | null {
  const [scheme, token] = authorization.split(' ');
  return scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '' ? token : null;
}
