import { clientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import { forgetFollowed } from '../pull/followed-groups.ts';
import type { Replica } from '../replica/replica.ts';
import type { WriteQueue } from '../replica/write-queue.ts';
import { countUnsentFiles, forgetFiles } from '../state/file-rows.ts';
import { LAST_RESULTS } from '../state/last-results.ts';
import type { Transaction } from '../state/local-state.ts';
import { ENDED, isSameUser, OWNER, type Owner, SESSION, type User } from '../state/owner.ts';
import type { SessionRow } from '../state/rows.ts';
import { addRevocation } from './revocations.ts';
import { endReason, type SessionEnd } from './session-end.ts';

/** What a user signs in with: a password, a token of an identity provider, or the code of an invite, which counts once. */
export type Credentials =
  | { readonly login: string; readonly password: string }
  | { readonly idToken: string }
  | { readonly accessToken: string }
  | { readonly invite: string };

/** Returns credentials to renew an ended session with, or null if the user has to sign in. */
export type GetToken = () => Promise<Credentials | null>;

/** Earlier versions stored no reason. */
const UNKNOWN_END: SessionEnd = { reason: 'unknown', atMs: 0 };

interface SessionsParts {
  readonly platform: Platform;
  readonly replica: Replica;
  readonly writes: WriteQueue;
}

/** The stored session of the device, and the user whose data it holds. */
export class Sessions {
  readonly #platform: Platform;
  readonly #replica: Replica;
  readonly #writes: WriteQueue;

  constructor({ platform, replica, writes }: SessionsParts) {
    this.#platform = platform;
    this.#replica = replica;
    this.#writes = writes;
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

  /** Stores a session instead of the one with this token, unless the user has signed out meanwhile, or another one has signed in. */
  async keep(session: SessionRow, replaced: string): Promise<void> {
    await this.#replica.transact((tx) => {
      if (this.current()?.token === replaced) putSession(tx, session);
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

  /** True if the session is of the user whose data the device holds. */
  isOwner(session: User): boolean {
    const owner = this.owner();
    return owner !== null && isSameUser(owner, session);
  }

  /** Takes over a session after a sign-in. Data of another user is deleted. */
  async take(session: SessionRow, discardUploads: boolean): Promise<void> {
    const isOther = this.owner() !== null && !this.isOwner(session);
    await this.#replica.transact((tx) => this.#take(tx, session, discardUploads), { scrubs: isOther });
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
    const unsentUploads = this.#writes
      .uploads()
      .filter(([, { state }]) => state === 'waiting' || state === 'held').length;
    tx.clear('sources', 'objects', 'staged', 'uploads', 'problems', 'acknowledgements', 'links');
    for (const key of [SESSION, OWNER, ENDED, LAST_RESULTS]) tx.delete('facts', key);
    forgetFollowed(tx);
    forgetFiles(tx);
    if (session === null) return;
    const { token, clientId } = session;
    addRevocation(tx, { token, clientId, unsentUploads, isWiped });
  }

  #take(tx: Transaction, session: SessionRow, discardUploads: boolean): void {
    if (this.owner() !== null && !this.isOwner(session)) {
      this.#requireNothingToLose(discardUploads);
      this.#leave(tx, this.current(), false);
    }
    putSession(tx, session);
    tx.delete('facts', ENDED);
  }

  #requireNothingToLose(discardUploads: boolean): void {
    const { uploadsOpen } = this.#replica.views;
    const files = countUnsentFiles(this.#replica.reader);
    if (uploadsOpen + files === 0 || discardUploads) return;
    const what = [...counted(uploadsOpen, 'change'), ...counted(files, 'file')].join(' and ');
    throw clientError('uploads_pending', `${what} made here and not sent yet would be lost`);
  }
}

function counted(count: number, noun: string): readonly string[] {
  return count === 0 ? [] : [`${count} ${noun}${count === 1 ? '' : 's'}`];
}

/** Stores the session and its user. A store of an earlier version learns the generation when the token is refreshed. */
function putSession(tx: Transaction, session: SessionRow): void {
  const { userId, clientId, generation } = session;
  tx.put('facts', SESSION, { ...session });
  tx.put('facts', OWNER, { userId, clientId, ...(generation === undefined ? {} : { generation }) });
}
