import { clientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import type { Transaction } from '../state/local-state.ts';
import type { Replica } from '../state/replica.ts';
import type { SessionRow } from '../state/rows.ts';
import { readAnything, readSession } from '../transport/read-answer.ts';
import { type SessionStore, sessionRow } from '../transport/session-caller.ts';
import type { Wire } from '../transport/wire.ts';

export interface Credentials {
  readonly login: string;
  readonly password: string;
}

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

  constructor(platform: Platform, wire: Wire, replica: Replica) {
    this.#platform = platform;
    this.#wire = wire;
    this.#replica = replica;
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

  async signIn({ login, password }: Credentials, discardUploads: boolean, signal: AbortSignal): Promise<void> {
    const client = this.owner()?.clientId ?? null;
    const body = { login, password, ...(client === null ? {} : { client }) };
    const answer = await this.#wire.ask({ method: 'POST', path: '/login', body, read: readSession, signal });
    const session = sessionRow(answer, this.#platform.nowMs());
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

function putSession(tx: Transaction, session: SessionRow): void {
  tx.put('facts', SESSION, { ...session });
}

function wipe(tx: Transaction): void {
  tx.clear('sources', 'objects', 'staged', 'uploads', 'problems', 'acknowledgements', 'links');
}
