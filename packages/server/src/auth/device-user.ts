import type { Authenticator, Identity, Tidemark, VerifiedLogin } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { CountedRefusal } from './login-limiter.ts';

export interface DeviceUserParts {
  readonly tidemark: Pick<Tidemark, 'users' | 'system' | 'logins'>;
  readonly backend: Authenticator;
}

/** A user who may use devices. */
export interface DeviceUser {
  readonly login: string;
  /** Identifies the password that was verified, if it is stored here; tokens issued for it end with it. */
  readonly stamp?: string;
  /** The identity that was verified, if an identity provider vouches for the user. */
  readonly identity?: Identity;
  /** The generation of the user, if an invite was used. */
  readonly generation?: number;
  /** The groups that the backend or the identity provider names. Absent: the groups of the user stay. */
  readonly groups?: readonly string[];
}

const RETRY_AFTER_S = 5;

/**
 * Returns the user with this login and password, or null. The backend decides if its address is set and it implements
 * `authenticate`; otherwise the stored passwords do. A user verified by the backend is created without a password.
 * The password is passed on and not stored, unless offline logins are configured: then a hash is kept for a while.
 * See docs/backend/contract.md, "Login precedence".
 */
export async function deviceUser(parts: DeviceUserParts, login: string, password: string): Promise<DeviceUser | null> {
  const { users, system, logins } = parts.tidemark;
  const { adapter_url } = await system.appserver();
  if (adapter_url === null) return users.verifyPassword(login, password);
  const credentials = { login, password, backend: adapter_url };
  const answer = await parts.backend
    .authenticate(login, password)
    .catch((error: unknown) => ({ kind: 'failed', error }) as const);
  switch (answer.kind) {
    case 'failed':
      return offlineUser(parts, credentials, answer.error);
    case 'not_handled':
      return users.verifyPassword(login, password);
    case 'refused':
      await logins.refuse(credentials);
      return null;
    case 'user': {
      const name = await users.ensure(answer.user);
      await logins.remember(credentials, name);
      return { login: name, ...(answer.groups === undefined ? {} : { groups: answer.groups }) };
    }
  }
}

/** Returns a user whom the backend verified before, if offline logins are configured and the backend cannot answer. */
async function offlineUser(parts: DeviceUserParts, credentials: VerifiedLogin, error: unknown): Promise<DeviceUser> {
  const { logins } = parts.tidemark;
  // Overload of this server says nothing about the backend or the password.
  if (error instanceof Refusal && error.code === 'overloaded') throw error;
  const user = await logins.recall(credentials);
  if (user !== null) return { login: user };
  throw backendUnavailable(error, logins.isOn ? CountedRefusal : Refusal);
}

/** If the backend fails, the device must try again later: nobody has said that the login is wrong. */
function backendUnavailable(error: unknown, Kind: typeof Refusal): Refusal {
  const afterS = error instanceof Refusal ? (error.retryAfterS ?? RETRY_AFTER_S) : RETRY_AFTER_S;
  return new Kind('backend_unavailable', 'logins are checked by the backend, which cannot answer now', [], afterS);
}
