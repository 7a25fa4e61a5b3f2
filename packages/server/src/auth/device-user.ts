import type { Authenticator, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';

export interface DeviceUserParts {
  readonly tidemark: Pick<Tidemark, 'users' | 'system'>;
  readonly backend: Authenticator;
}

/** Somebody who may use devices. */
export interface DeviceUser {
  readonly login: string;
  /** Names the password that was right, where it is kept here; a token issued for it ends with it. */
  readonly stamp?: string;
}

const RETRY_AFTER_S = 5;

/**
 * Whoever the login and password belong to, or null: asked of the backend when its address is set, looked up here
 * otherwise. Somebody the backend vouches for becomes a user without a password. The password is passed on and forgotten.
 */
export async function deviceUser(parts: DeviceUserParts, login: string, password: string): Promise<DeviceUser | null> {
  const { users, system } = parts.tidemark;
  const { adapter_url } = await system.appserver();
  if (adapter_url === null) return users.verifyPassword(login, password);
  const user = await parts.backend.authenticate(login, password).catch(cannotTell);
  return user === null ? null : { login: await users.ensure(user) };
}

/** Whatever is wrong with the backend, the device is to try again later: nobody has said that the login is wrong. */
function cannotTell(error: unknown): never {
  const afterS = error instanceof Refusal ? (error.retryAfterS ?? RETRY_AFTER_S) : RETRY_AFTER_S;
  throw new Refusal('backend_unavailable', 'logins are checked by the backend, which cannot tell now', [], afterS);
}
