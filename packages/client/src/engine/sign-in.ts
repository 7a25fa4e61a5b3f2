import { ClientError, clientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import type { Replica } from '../replica/replica.ts';
import type { AppVersions } from '../state/app-versions.ts';
import type { SessionRow } from '../state/rows.ts';
import { readSession } from '../transport/read-answer.ts';
import { type SessionCaller, type SessionStore, sessionRow } from '../transport/session-caller.ts';
import type { Wire } from '../transport/wire.ts';
import { type About, describeDevice } from './describe-device.ts';
import { addRevocation, revocationsIn } from './revocations.ts';
import type { Revoker } from './revoker.ts';
import type { Credentials, GetToken, Sessions } from './sessions.ts';

interface SignInParts {
  readonly platform: Platform;
  readonly wire: Wire;
  readonly replica: Replica;
  readonly sessions: Sessions;
  readonly revoker: Revoker;
  readonly about: About;
  readonly versions: AppVersions | null;
  readonly getToken: GetToken | null;
  /** Called when the server says that the device must be erased. */
  readonly onWiped: () => void;
}

/** Signs in at the server, and renews sessions. */
export class SignIn implements SessionStore {
  readonly onWiped: () => void;
  readonly #parts: SignInParts;
  #isDescribed = false;

  constructor(parts: SignInParts) {
    this.#parts = parts;
    this.onWiped = parts.onWiped;
  }

  current(): SessionRow | null {
    return this.#parts.sessions.current();
  }

  keep(session: SessionRow, replaced: string): Promise<void> {
    const { about = '' } = this.current() ?? {};
    return this.#parts.sessions.keep({ about, ...session }, replaced);
  }

  /**
   * Tells the server what the device is, if it was told something else: apps are updated while their users stay signed in. It never
   * rejects, and is tried again with the next pull unless the server has refused it.
   */
  async describe(caller: SessionCaller, signal: AbortSignal): Promise<void> {
    const { about: given, versions } = this.#parts;
    const body = described(given, versions);
    const about = JSON.stringify(body);
    const session = this.current();
    if (this.#isDescribed || session === null || session.about === about) return;
    this.#isDescribed = true;
    try {
      const path = `/clients/${encodeURIComponent(session.clientId)}`;
      await caller.ask({ method: 'PUT', path, body, read: () => null, signal });
      const current = this.current();
      if (current?.clientId === session.clientId) await this.#parts.sessions.keep({ ...current, about }, current.token);
    } catch (error) {
      // What the server refuses is told again by the next start.
      this.#isDescribed = !(error instanceof ClientError && isTemporary(error.status));
    }
  }

  /** Credentials of another user renew nothing: that user has to sign in. */
  async renew(replaced: string, signal: AbortSignal): Promise<SessionRow | null> {
    const { sessions } = this.#parts;
    const credentials = await this.#credentials();
    if (credentials === null) return null;
    const { session, isWiped } = await this.#logIn(credentials, signal);
    if (sessions.isOwner(session)) {
      await sessions.keep(session, replaced);
      if (isWiped) throw new ClientError('client_wiped', 'an administrator has ordered to erase this device');
      return session;
    }
    await this.#revoke(session);
    return null;
  }

  async signIn(credentials: Credentials, discardUploads: boolean, signal: AbortSignal): Promise<void> {
    const { sessions, revoker } = this.#parts;
    await revoker.flush();
    let { session, isWiped } = await this.#logIn(credentials, signal);
    if (isWiped) {
      await sessions.erase(session);
      await revoker.flush();
      ({ session, isWiped } = await this.#logIn(credentials, signal));
    }
    try {
      await sessions.take(session, discardUploads);
    } catch (error) {
      await this.#revoke(session);
      throw error;
    }
  }

  /** An identity provider that cannot be reached does not end the session: the device tries again later. */
  async #credentials(): Promise<Credentials | null> {
    try {
      return (await this.#parts.getToken?.()) ?? null;
    } catch (error) {
      throw clientError('unreachable', 'the app could not get a token to renew the session with', error);
    }
  }

  async #logIn(
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<{ readonly session: SessionRow; readonly isWiped: boolean }> {
    const { platform, wire, replica, sessions, about, versions } = this.#parts;
    const client = sessions.owner()?.clientId ?? null;
    // The revocation ends all tokens of its device, so a device that waits for one signs in as a new one.
    const isKnown = client !== null && !revocationsIn(replica.reader).some(({ clientId }) => clientId === client);
    const device = described(about, versions);
    const body = { ...proofOf(credentials), ...(isKnown ? { client } : {}), device };
    const answer = await wire.ask({ method: 'POST', path: '/login', body, read: readSession, signal });
    const session = { ...sessionRow(answer, platform.nowMs()), about: JSON.stringify(device) };
    return { session, isWiped: answer.wipe === true };
  }

  /** Ends a session that was never used. */
  async #revoke({ token, clientId }: SessionRow): Promise<void> {
    const { replica, revoker } = this.#parts;
    await replica.transact((tx) => addRevocation(tx, { token, clientId, unsentUploads: 0, isWiped: false }));
    await revoker.flush();
  }
}

function described(about: About, versions: AppVersions | null) {
  const device = describeDevice(about);
  return versions === null ? device : { ...device, schema_versions: versions.all };
}

/** Null: there was no answer. */
function isTemporary(status: number | null): boolean {
  return status === null || status === 401 || status === 429 || status >= 500;
}

function proofOf(credentials: Credentials): object {
  if ('idToken' in credentials) return { id_token: credentials.idToken };
  if ('accessToken' in credentials) return { access_token: credentials.accessToken };
  if ('invite' in credentials) return { invite: credentials.invite };
  return { login: credentials.login, password: credentials.password };
}
