import type { Bearer, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';

/**
 * Whoever can log in as an administrator has every scope, `admin:reset` included. So a token with the scope `admin` alone
 * must not be able to change how an administrator logs in, or act in the name of another one.
 */
const NEEDED = 'admin:reset';

/** Refuses to change the password of an administrator, or to delete one, without the scope `admin:reset`. */
export async function requireRightOverUser(tidemark: Tidemark, bearer: Bearer | null, login: string): Promise<void> {
  if (hasAllScopes(bearer) || !(await tidemark.users.isAdmin(login))) return;
  throw new Refusal(
    'forbidden',
    `only a token with the scope ${NEEDED} can change the password of an administrator or delete one; log in to get one`,
  );
}

/** Refuses to make or revoke a token of another administrator, or one with `admin:reset`, without that scope. */
export async function requireRightOverToken(
  tidemark: Tidemark,
  bearer: Bearer | null,
  token: { readonly user: string; readonly scopes: readonly unknown[] },
): Promise<void> {
  if (hasAllScopes(bearer)) return;
  const isOfOther = token.user !== bearer?.user && (await tidemark.users.isAdmin(token.user));
  if (!isOfOther && !token.scopes.includes(NEEDED)) return;
  const which = isOfOther ? 'a token of another administrator' : `a token with the scope ${NEEDED}`;
  throw new Refusal('forbidden', `only a token with the scope ${NEEDED} can make or revoke ${which}`);
}

function hasAllScopes(bearer: Bearer | null): boolean {
  return bearer?.scopes.includes(NEEDED) === true;
}
