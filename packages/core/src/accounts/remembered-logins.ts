import { nameProblem, parseJson, Refusal } from '@tidemark/protocol';
import { lifeGuard } from '../admission/admit-write.ts';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf, ownerTouched } from '../entries/owner-index.ts';
import { LOGIN_OF, PRESENT, REMEMBERED_LOGIN, refs } from '../entries/refs.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { Random } from '../ports/random.ts';
import type { Entry, EntryWrite, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { passwordProblem } from './admit-password.ts';

export interface RememberedLoginsPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly passwords: Passwords;
  /** How long after the backend vouched for a login it is remembered. Absent or 0: not at all. */
  readonly loginsKeptMs?: number;
}

/** A login the backend has vouched for. Of the password there is only a hash, as of those that are kept here. */
interface RememberedLogin {
  readonly user: string;
  /** Tells the user from any other of the same name. */
  readonly life: number;
  /** Who vouched for it. Another backend has other users. */
  readonly backend: string;
  readonly passwordHash: string;
  readonly atMs: number;
}

/** Whose login and password they are, and who says so. */
export interface VerifiedLogin {
  readonly login: string;
  readonly password: string;
  readonly backend: string;
}

/**
 * Logins that a backend has vouched for, for when it cannot be asked. Off unless the operator wants it: whoever was shut
 * out since the backend was last asked would still get in.
 */
export class RememberedLogins {
  readonly #ports: RememberedLoginsPorts;
  readonly #keptMs: number;
  #nobodysHash: Promise<string> | null = null;

  constructor(ports: RememberedLoginsPorts) {
    this.#ports = ports;
    this.#keptMs = ports.loginsKeptMs ?? 0;
  }

  get isOn(): boolean {
    return this.#keptMs > 0;
  }

  /** The backend has just vouched for it. */
  async remember({ login, password, backend }: VerifiedLogin, user: string): Promise<void> {
    const isKept = this.isOn && nameProblem('login', login) === null && passwordProblem(password) === null;
    if (!isKept) return;
    const { store, clock, passwords } = this.#ports;
    const passwordHash = await passwords.hash(password).catch(tooBusy);
    if (passwordHash === null) return;
    await retryOnConflict(async () => {
      const life = (await store.readEntry(refs.life(user)))?.version;
      if (life === undefined) return true;
      const entry = await store.readEntry(refs.rememberedLogin(login));
      const record: RememberedLogin = { user, life, backend, passwordHash, atMs: clock.nowMs() };
      const before = entry === null ? user : readRemembered(entry).user;
      const writes: EntryWrite[] = [
        { ...refs.rememberedLogin(login), value: JSON.stringify(record), expect: entry?.version ?? 0 },
        ...(before === user ? [] : [{ ...refs.loginOf(before, login), value: null }]),
        { ...refs.loginOf(user, login), value: PRESENT },
        // Whoever deletes the user, or changes the password, must find what is new.
        ownerTouched('user', user),
      ];
      const result = await store.writeEntries({ writes, guards: [lifeGuard(user, life)] });
      return result.status === 'conflict' ? null : true;
    });
  }

  /** The user, when the same backend vouched for this login and password not too long ago; null: nobody can tell. */
  async recall(vouched: VerifiedLogin): Promise<string | null> {
    const known = await this.#matching(vouched);
    if (known === null) return null;
    const life = await this.#ports.store.readEntry(refs.life(known.user));
    return life?.version === known.life ? known.user : null;
  }

  /** The backend has refused it. Whoever merely mistyped the password has said nothing about the one that is remembered. */
  async refuse(vouched: VerifiedLogin): Promise<void> {
    const known = await this.#matching(vouched);
    if (known !== null) await this.#remove(vouched.login, known);
  }

  /** Removes what is no longer to be used. */
  async trim(): Promise<void> {
    for await (const entry of allEntries(this.#ports.store, 'setting', [REMEMBERED_LOGIN])) {
      const known = readRemembered(entry);
      if (!this.#isFresh(known)) await this.#remove(lastOf(entry.key), known);
    }
  }

  /** Takes as long whether or not anything is remembered. */
  async #matching({ login, password, backend }: VerifiedLogin): Promise<RememberedLogin | null> {
    if (!this.isOn || passwordProblem(password) !== null) return null;
    const { store, passwords } = this.#ports;
    const nobodysHash = await this.#hashOfNobody();
    const entry = nameProblem('login', login) === null ? await store.readEntry(refs.rememberedLogin(login)) : null;
    const known = entry === null ? null : readRemembered(entry);
    const isUsable = known !== null && known.backend === backend && this.#isFresh(known);
    const isRight = await passwords.verify(password, isUsable ? known.passwordHash : nobodysHash);
    return isUsable && isRight ? known : null;
  }

  #isFresh({ atMs }: RememberedLogin): boolean {
    return elapsedMs(atMs, this.#ports.clock.nowMs()) < this.#keptMs;
  }

  async #remove(login: string, known: RememberedLogin): Promise<void> {
    await this.#ports.store.writeEntries({ writes: removalsOf(login, known), guards: [] });
  }

  #hashOfNobody(): Promise<string> {
    this.#nobodysHash ??= this.#ports.passwords.hash(randomId(this.#ports.random)).catch((error: unknown) => {
      this.#nobodysHash = null;
      throw error;
    });
    return this.#nobodysHash;
  }
}

/** All that is remembered of a user's logins goes with the user, and with the password. */
export async function loginRemovals(store: Store, user: string): Promise<EntryWrite[]> {
  const writes: EntryWrite[] = [];
  for await (const { key } of allEntries(store, 'setting', [LOGIN_OF, user])) {
    writes.push(...removalsOf(lastOf(key), { user }));
  }
  return writes;
}

/** A server that has no time to hash lets people in all the same; it remembers them the next time. */
function tooBusy(error: unknown): null {
  if (error instanceof Refusal) return null;
  throw error;
}

function removalsOf(login: string, { user }: Pick<RememberedLogin, 'user'>): EntryWrite[] {
  return [
    { ...refs.rememberedLogin(login), value: null },
    { ...refs.loginOf(user, login), value: null },
  ];
}

function readRemembered({ value }: Entry): RememberedLogin {
  return parseJson(value) as RememberedLogin;
}
