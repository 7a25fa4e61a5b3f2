import type { Bearer, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';

/**
 * Whoever can log in as an administrator has every scope, including `admin:reset`. So a token with only the scope
 * `admin` must not change how an administrator logs in, or create tokens for another one.
 */
const REQUIRED_SCOPE = 'admin:reset';

/** Refuses to change the password of an administrator, or to invite or delete one, without the scope `admin:reset`. */
export async function requireRightOverUser(tidemark: Tidemark, bearer: Bearer | null, login: string): Promise<void> {
  if (hasAllScopes(bearer) || !(await tidemark.users.isAdmin(login))) return;
  throw new Refusal(
    'forbidden',
    `only a token with the scope ${REQUIRED_SCOPE} can change the password of an administrator, or invite or delete one; log in to get one`,
  );
}

/** Refuses to create or revoke a token of another administrator, or one with `admin:reset`, without that scope. */
export async function requireRightOverToken(
  tidemark: Tidemark,
  bearer: Bearer | null,
  token: { readonly user: string; readonly scopes: readonly unknown[] },
): Promise<void> {
  if (hasAllScopes(bearer)) return;
  const isOtherUsers = token.user !== bearer?.user && (await tidemark.users.isAdmin(token.user));
  if (!isOtherUsers && !token.scopes.includes(REQUIRED_SCOPE)) return;
  const which = isOtherUsers ? 'a token of another administrator' : `a token with the scope ${REQUIRED_SCOPE}`;
  throw new Refusal('forbidden', `only a token with the scope ${REQUIRED_SCOPE} can create or revoke ${which}`);
}

/**
 * Refuses a new token that would be valid longer than the rights of its creator. Only whoever logs in with a password can
 * create tokens that last: a role may be withdrawn at the identity provider, and a token with a name has an end for a
 * reason.
 */
export function requireNoLongerThan(bearer: Bearer | null, expiresAtMs: number | null): void {
  if (bearer === null || bearer.expiresAtMs === null || !(bearer.isByRole || bearer.name !== null)) return;
  if (expiresAtMs !== null && expiresAtMs <= bearer.expiresAtMs) return;
  const until = new Date(bearer.expiresAtMs).toISOString();
  const whose = bearer.isByRole ? 'a session by a role of the identity provider' : 'a token that expires';
  const detail = `${whose} creates tokens that end with it: give an expires_at up to ${until}, or log in with a password`;
  throw new Refusal('forbidden', detail);
}

function hasAllScopes(bearer: Bearer | null): boolean {
  return bearer?.scopes.includes(REQUIRED_SCOPE) === true;
}
