import { ClientError, clientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import { forgetFollowed } from '../pull/followed-groups.ts';
import { LAST_RESULTS } from '../state/last-results.ts';
import type { Reader, Transaction } from '../state/local-state.ts';
import type { Replica } from '../state/replica.ts';
import type { SessionRow } from '../state/rows.ts';
import { readSession } from '../transport/read-answer.ts';
import { type SessionStore, sessionRow } from '../transport/session-caller.ts';
import type { Wire } from '../transport/wire.ts';
import { LazyRevoker } from './lazy-revoker.ts';
import { addRevocation, type RevokerParts, revocationsIn } from './revocations.ts';
import { endReason, type SessionEnd } from './session-end.ts';

/** What a user signs in with: a password, a token of an identity provider, or the code of an invite, which counts once. */
export type Credentials =
  | { readonly login: string; readonly password: string }
  | { readonly idToken: string }
  | { readonly accessToken: string }
  | { readonly invite: string };

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
/** Earlier versions stored no reason. */
const UNKNOWN_END: SessionEnd = { reason: 'unknown', atMs: 0 };

export interface SessionsParts extends RevokerParts {
  readonly getToken: GetToken | null;
  /** Called when the server says that the device must be erased. */
  readonly onWiped: () => void;
}

/** Signs in and out, and stores the session. */
export class Sessions implements SessionStore {
  readonly revoker: LazyRevoker;
  readonly onWiped: () => void;
  readonly #platform: Platform;
  readonly #wire: Wire;
  readonly #replica: Replica;
  readonly #getToken: GetToken | null;

  constructor(parts: SessionsParts) {
    this.#platform = parts.platform;
    this.#wire = parts.wire;
    this.#replica = parts.replica;
    this.#getToken = parts.getToken;
    this.onWiped = parts.onWiped;
    this.revoker = new LazyRevoker(parts);
  }

  current(): SessionRow | null {
    return (this.#replica.reader.get('facts', SESSION) as unknown as SessionRow | undefined) ?? null;
  }

  owner(): Owner | null {
    return (this.#replica.reader.get('facts', OWNER) as unknown as Owner | undefined) ?? null;
  }

  kind(): 'none' | 'ended' | 'kept' {
    if (this.current() !== null) return 'kept';
    // A device that was wiped has no owner any more.
    return this.#replica.reader.get('facts', ENDED) !== undefined && this.owner() !== null ? 'ended' : 'none';
  }

  async keep(session: SessionRow): Promise<void> {
    await this.#replica.transact((tx) => {
      // The user may have signed out during the refresh of the token.
      if (tx.get('facts', SESSION) !== undefined) putSession(tx, session);
    });
  }

  async end(error: unknown): Promise<void> {
    await this.#replica.transact((tx) => {
      const session = this.current();
      if (session === null) return;
      const atMs = this.#platform.nowMs();
      tx.delete('facts', SESSION);
      tx.put('facts', ENDED, { reason: endReason(error, session.expiresAtMs <= atMs), atMs });
    });
  }

  /** Why the last session ended; null: it did not, or the user ended it here. */
  lastEnd(): SessionEnd | null {
    const end = this.#replica.reader.get('facts', ENDED) as unknown as SessionEnd | true | undefined;
    return end === true ? UNKNOWN_END : (end ?? null);
  }

  /** Credentials of another user renew nothing: that user has to sign in. */
  async renew(signal: AbortSignal): Promise<SessionRow | null> {
    const credentials = await this.#credentials();
    if (credentials === null) return null;
    const { session, isWiped } = await this.#logIn(credentials, signal);
    if (session.userId === this.owner()?.userId) {
      await this.keep(session);
      if (isWiped) throw new ClientError('client_wiped', 'an administrator has ordered to erase this device');
      return session;
    }
    await this.#revoke(session);
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

  async #logIn(
    credentials: Credentials,
    signal: AbortSignal,
  ): Promise<{ readonly session: SessionRow; readonly isWiped: boolean }> {
    const client = this.owner()?.clientId ?? null;
    // The revocation ends all tokens of its device, so a device that waits for one signs in as a new one.
    const isKnown = client !== null && !revocationsIn(this.#replica.reader).some(({ clientId }) => clientId === client);
    const body = { ...proofOf(credentials), ...(isKnown ? { client } : {}) };
    const answer = await this.#wire.ask({ method: 'POST', path: '/login', body, read: readSession, signal });
    return { session: sessionRow(answer, this.#platform.nowMs()), isWiped: answer.wipe === true };
  }

  async signIn(credentials: Credentials, discardUploads: boolean, signal: AbortSignal): Promise<void> {
    await this.revoker.flush();
    let { session, isWiped } = await this.#logIn(credentials, signal);
    if (isWiped) {
      await this.erase(session);
      await this.revoker.flush();
      ({ session, isWiped } = await this.#logIn(credentials, signal));
    }
    const isOther = this.owner() !== null && this.owner()?.userId !== session.userId;
    try {
      await this.#replica.transact((tx) => this.#take(tx, session, discardUploads), { scrubs: isOther });
    } catch (error) {
      await this.#revoke(session);
      throw error;
    }
  }

  /** Deletes the user's data, and notes that the token must be revoked. The id of the device stays. */
  async signOut(discardUploads: boolean): Promise<void> {
    await this.#replica.transact(
      (tx) => {
        this.#requireNothingToLose(discardUploads);
        this.#leave(tx, this.current(), false);
        const clientId = this.owner()?.clientId;
        if (clientId !== undefined) tx.put('facts', OWNER, { userId: '', clientId });
      },
      { scrubs: true },
    );
  }

  /** Deletes everything, with the id of the device, because the server has ordered it. */
  async erase(session: SessionRow | null): Promise<void> {
    await this.#replica.transact(
      (tx) => {
        this.#leave(tx, session, true);
        tx.put('facts', ENDED, { reason: 'wiped', atMs: this.#platform.nowMs() });
      },
      { scrubs: true },
    );
  }

  /** Deletes what is stored of the user. Of the session only what its revocation needs stays. */
  #leave(tx: Transaction, session: SessionRow | null, isWiped: boolean): void {
    const unsentUploads = this.#replica.uploads().filter(([, { state }]) => state === 'waiting').length;
    tx.clear('sources', 'objects', 'staged', 'uploads', 'problems', 'acknowledgements', 'links');
    for (const key of [SESSION, OWNER, ENDED, LAST_RESULTS]) tx.delete('facts', key);
    forgetFollowed(tx);
    if (session === null) return;
    const { token, clientId } = session;
    addRevocation(tx, { token, clientId, unsentUploads, isWiped });
  }

  #take(tx: Transaction, session: SessionRow, discardUploads: boolean): void {
    const { userId, clientId } = session;
    const owner = this.owner();
    if (owner !== null && owner.userId !== userId) {
      this.#requireNothingToLose(discardUploads);
      this.#leave(tx, this.current(), false);
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

  /** Ends a session that was never used. */
  async #revoke({ token, clientId }: SessionRow): Promise<void> {
    await this.#replica.transact((tx) => addRevocation(tx, { token, clientId, unsentUploads: 0, isWiped: false }));
    await this.revoker.flush();
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
  if ('invite' in credentials) return { invite: credentials.invite };
  return { login: credentials.login, password: credentials.password };
}

function putSession(tx: Transaction, session: SessionRow): void {
  tx.put('facts', SESSION, { ...session });
}
