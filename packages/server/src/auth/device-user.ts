import type { Authenticator, Tidemark, VerifiedLogin } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { CountedRefusal } from './login-limiter.ts';

export interface DeviceUserParts {
  readonly tidemark: Pick<Tidemark, 'users' | 'system' | 'logins'>;
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
 * Whoever the login and password belong to, or null. The backend decides when its address is set and it has the call
 * `authenticate`; otherwise the passwords kept here do. Somebody the backend vouches for becomes a user without a
 * password. The password is passed on and forgotten, unless the operator wants logins to go on while the backend is away:
 * then a hash of it stays for a while. docs/backend.md, "Login precedence", says all of it.
 */
export async function deviceUser(parts: DeviceUserParts, login: string, password: string): Promise<DeviceUser | null> {
  const { users, system, logins } = parts.tidemark;
  const { adapter_url } = await system.appserver();
  if (adapter_url === null) return users.verifyPassword(login, password);
  const vouched = { login, password, backend: adapter_url };
  const answer = await parts.backend
    .authenticate(login, password)
    .catch((error: unknown) => ({ kind: 'failed', error }) as const);
  switch (answer.kind) {
    case 'failed':
      return recalled(parts, vouched, answer.error);
    case 'not_handled':
      return users.verifyPassword(login, password);
    case 'refused':
      await logins.refuse(vouched);
      return null;
    case 'user': {
      const name = await users.ensure(answer.user);
      await logins.remember(vouched, name);
      return { login: name };
    }
  }
}

/** Somebody the backend vouched for before, where the operator wants that to be enough while it cannot tell. */
async function recalled(parts: DeviceUserParts, vouched: VerifiedLogin, error: unknown): Promise<DeviceUser> {
  const { logins } = parts.tidemark;
  // That we have too much to do says nothing about the backend, nor about the password.
  if (error instanceof Refusal && error.code === 'overloaded') throw error;
  const user = await logins.recall(vouched);
  if (user !== null) return { login: user };
  throw cannotTell(error, logins.isOn ? CountedRefusal : Refusal);
}

/** Whatever is wrong with the backend, the device is to try again later: nobody has said that the login is wrong. */
function cannotTell(error: unknown, Kind: typeof Refusal): Refusal {
  const afterS = error instanceof Refusal ? (error.retryAfterS ?? RETRY_AFTER_S) : RETRY_AFTER_S;
  return new Kind('backend_unavailable', 'logins are checked by the backend, which cannot tell now', [], afterS);
}
