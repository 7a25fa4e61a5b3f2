import { Refusal } from '@tidemark/protocol';

/** Headers that may come once: a proxy and we could each look at another one. Node.js itself takes the first, or joins them. */
const SINGLE: ReadonlySet<string> = new Set(['host', 'authorization', 'x-sync-api-token']);
const SINGLE_LENGTHS: ReadonlySet<number> = new Set([...SINGLE].map(({ length }) => length));

/** Refuses a request that says twice for whom it is or from whom it comes. Names and values alternate in the list. */
export function requireUnambiguous(rawHeaders: readonly string[]): void {
  let seen: Map<string, string> | null = null;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const written = rawHeaders[index] as string;
    // Most headers are ruled out by the length of their name.
    if (!SINGLE_LENGTHS.has(written.length)) continue;
    const name = written.toLowerCase();
    if (!SINGLE.has(name)) continue;
    seen ??= new Map();
    if (seen.has(name)) throw new Refusal('invalid_request', `the header ${name} may be sent only once`);
    seen.set(name, rawHeaders[index + 1] as string);
  }
  requireSameToken(seen?.get('x-sync-api-token'), seen?.get('authorization'));
}

/** Credentials of another scheme are for a proxy on the way, not for us. */
function requireSameToken(own: string | undefined, authorization: string | undefined): void {
  if (own === undefined || own === '' || authorization === undefined) return;
  const bearer = bearerToken(authorization);
  if (bearer === null || bearer === own) return;
  throw new Refusal('invalid_request', 'X-Sync-API-TOKEN and Authorization hold different tokens; send one of them');
}

/** The token of an `Authorization: Bearer` header; null when there is none in it. */
export function bearerToken(authorization: string): string | null {
  const [scheme, token] = authorization.split(' ');
  return scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '' ? token : null;
}
