import { clientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Replica } from '../state/replica.ts';
import type { SessionRow } from '../state/rows.ts';
import { readAnything, readSession } from '../transport/read-answer.ts';
import { type SessionStore, sessionRow } from '../transport/session-caller.ts';
import type { Wire } from '../transport/wire.ts';

/** What a user signs in with: a password, or a token of an identity provider. */
export type Credentials =
  | { readonly login: string; readonly password: string }
  | { readonly idToken: string }
  | { readonly accessToken: string };

/** Returns credentials to renew an ended session with, or null if the user has to sign in. */
export type GetToken = () => Promise<Credentials | null>;

/** The user whose data the device holds, and the device id at the server; both outlive a session. */
export interface Owner {
  readonly userId: string;
  readonly clientId: string;
}

const SESSION = ['', 'session'] as const;
const OWNER = ['', 'owner'] as const;
const ENDED = ['', 'ended'] as const;

/** Signs in and out, and stores the session. */
export class Sessions implements SessionStore {
  readonly #platform: Platform;
  readonly #wire: Wire;
  readonly #replica: Replica;
  readonly #getToken: GetToken | null;

  constructor(platform: Platform, wire: Wire, replica: Replica, getToken: GetToken | null) {
    this.#platform = platform;
    this.#wire = wire;
    this.#replica = replica;
    this.#getToken = getToken;
  }

  current(): SessionRow | null {
    return (this.#replica.reader.get('facts', SESSION) as unknown as SessionRow | undefined) ?? null;
  }

  owner(): Owner | null {
    return (this.#replica.reader.get('facts', OWNER) as unknown as Owner | undefined) ?? null;
  }

  kind(): 'none' | 'ended' | 'kept' {
    if (this.current() !== null) return 'kept';
    return this.#replica.reader.get('facts', ENDED) === true ? 'ended' : 'none';
  }

  async keep(session: SessionRow): Promise<void> {
    await this.#replica.transact((tx) => {
      // The user may have signed out during the refresh of the token.
      if (tx.get('facts', SESSION) !== undefined) putSession(tx, session);
    });
  }

  async end(): Promise<void> {
    await this.#replica.transact((tx) => {
      tx.delete('facts', SESSION);
      tx.put('facts', ENDED, true);
    });
  }

  /** Credentials of another user renew nothing: that user has to sign in. */
  async renew(signal: AbortSignal): Promise<SessionRow | null> {
    const credentials = await this.#credentials();
    if (credentials === null) return null;
    const session = await this.#logIn(credentials, signal);
    if (session.userId === this.owner()?.userId) {
      await this.keep(session);
      return session;
    }
    await this.revoke(session.token);
    return null;
  }

  /** An identity provider that cannot be reached does not end the session: the device tries again later. */
  async #credentials(): Promise<Credentials | null> {
    try {
      return (await this.#getToken?.()) ?? null;
    } catch (error) {
      throw clientError('unreachable', 'the app could not get a token to renew the session with', error);
    }
  }

  async #logIn(credentials: Credentials, signal: AbortSignal): Promise<SessionRow> {
    const client = this.owner()?.clientId ?? null;
    const body = { ...proofOf(credentials), ...(client === null ? {} : { client }) };
    const answer = await this.#wire.ask({ method: 'POST', path: '/login', body, read: readSession, signal });
    return sessionRow(answer, this.#platform.nowMs());
  }

  async signIn(credentials: Credentials, discardUploads: boolean, signal: AbortSignal): Promise<void> {
    const session = await this.#logIn(credentials, signal);
    try {
      await this.#replica.transact((tx) => this.#take(tx, session, discardUploads));
    } catch (error) {
      await this.revoke(session.token);
      throw error;
    }
  }

  /** Deletes the user's data. Resolves to the token to revoke. */
  signOut(discardUploads: boolean): Promise<string | null> {
    return this.#replica.transact((tx) => {
      this.#requireNothingToLose(discardUploads);
      const token = this.current()?.token ?? null;
      wipe(tx);
      tx.delete('facts', SESSION);
      tx.delete('facts', ENDED);
      return token;
    });
  }

  #take(tx: Transaction, session: SessionRow, discardUploads: boolean): void {
    const { userId, clientId } = session;
    const owner = this.owner();
    if (owner !== null && owner.userId !== userId) {
      this.#requireNothingToLose(discardUploads);
      wipe(tx);
    }
    putSession(tx, session);
    tx.put('facts', OWNER, { userId, clientId });
    tx.delete('facts', ENDED);
  }

  #requireNothingToLose(discardUploads: boolean): void {
    const { uploadsOpen } = this.#replica;
    if (uploadsOpen === 0 || discardUploads) return;
    throw clientError(
      'uploads_pending',
      `${uploadsOpen} changes made here have not reached the server and would be lost`,
    );
  }

  async revoke(token: string): Promise<void> {
    const { signal } = new AbortController();
    const call = { method: 'DELETE', path: '/token', token, read: readAnything, signal } as const;
    // A token that cannot be revoked now expires by itself.
    await this.#wire.ask(call).catch(() => undefined);
  }
}

/** Returns the user who may make changes. */
export function writerOf(reader: Reader): string {
  const owner = reader.get('facts', OWNER) as unknown as Owner | undefined;
  const hasSession = reader.get('facts', SESSION) !== undefined || reader.get('facts', ENDED) !== undefined;
  if (hasSession && owner !== undefined) return owner.userId;
  throw clientError('signed_out', 'nobody is signed in');
}

/** Returns a check that the user who made a change is still the one whose data the device holds. */
export function writerCheck(userId: string): (tx: Transaction) => void {
  return (tx) => {
    if (writerOf(tx) !== userId) throw clientError('signed_out', 'another user has signed in');
  };
}

function proofOf(credentials: Credentials): object {
  if ('idToken' in credentials) return { id_token: credentials.idToken };
  if ('accessToken' in credentials) return { access_token: credentials.accessToken };
  return { login: credentials.login, password: credentials.password };
}

function putSession(tx: Transaction, session: SessionRow): void {
  tx.put('facts', SESSION, { ...session });
}

function wipe(tx: Transaction): void {
  tx.clear('sources', 'objects', 'staged', 'uploads', 'problems', 'acknowledgements', 'links');
}
