import { nameProblem, parseJson, Refusal } from '@tidemark/protocol';
import { generationGuard } from '../admission/admit-write.ts';
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
  /** How long a login is remembered after the backend confirmed it. Absent or 0: logins are not remembered. */
  readonly loginsKeptMs?: number;
}

/** A login that the backend has confirmed, with a hash of the password. */
interface RememberedLogin {
  readonly user: string;
  /** The generation of the user, which differs from that of any other user of this login. */
  readonly generation: number;
  /** The backend that confirmed it. Another backend has other users. */
  readonly backend: string;
  readonly passwordHash: string;
  readonly atMs: number;
}

/** A login attempt, and the backend that decides about it. */
export interface VerifiedLogin {
  readonly login: string;
  readonly password: string;
  readonly backend: string;
}

/**
 * Remembers logins that a backend has confirmed, for times when the backend cannot be reached. It is off by default: a
 * user who was locked out after the last confirmation could still log in.
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

  /** Remembers a login that the backend has just confirmed. */
  async remember({ login, password, backend }: VerifiedLogin, user: string): Promise<void> {
    const isKept = this.isOn && nameProblem('login', login) === null && passwordProblem(password) === null;
    if (!isKept) return;
    const { store, clock, passwords } = this.#ports;
    const passwordHash = await passwords.hash(password).catch(tooBusy);
    if (passwordHash === null) return;
    await retryOnConflict(async () => {
      const generation = (await store.readEntry(refs.generation(user)))?.version;
      if (generation === undefined) return true;
      const entry = await store.readEntry(refs.rememberedLogin(login));
      const record: RememberedLogin = { user, generation, backend, passwordHash, atMs: clock.nowMs() };
      const before = entry === null ? user : readRemembered(entry).user;
      const writes: EntryWrite[] = [
        { ...refs.rememberedLogin(login), value: JSON.stringify(record), expect: entry?.version ?? 0 },
        ...(before === user ? [] : [{ ...refs.loginOf(before, login), value: null }]),
        { ...refs.loginOf(user, login), value: PRESENT },
        // A deletion of the user and a change of the password must see this new entry.
        ownerTouched('user', user),
      ];
      const result = await store.writeEntries({ writes, guards: [generationGuard(user, generation)] });
      return result.status === 'conflict' ? null : true;
    });
  }

  /** Returns the user if the same backend confirmed this login and password recently enough, else null. */
  async recall(vouched: VerifiedLogin): Promise<string | null> {
    const known = await this.#matching(vouched);
    if (known === null) return null;
    const generation = await this.#ports.store.readEntry(refs.generation(known.user));
    return generation?.version === known.generation ? known.user : null;
  }

  /** Forgets a login that the backend has refused, unless the password differs from the remembered one. */
  async refuse(vouched: VerifiedLogin): Promise<void> {
    const known = await this.#matching(vouched);
    if (known !== null) await this.#remove(vouched.login, known);
  }

  /** Deletes logins that are remembered for too long. */
  async trim(): Promise<void> {
    for await (const entry of allEntries(this.#ports.store, 'setting', [REMEMBERED_LOGIN])) {
      const known = readRemembered(entry);
      if (!this.#isFresh(known)) await this.#remove(lastOf(entry.key), known);
    }
  }

  /** Takes the same time whether or not the login is remembered. */
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

/** The remembered logins of a user, to be deleted with the user or when the password changes. */
export async function loginRemovals(store: Store, user: string): Promise<EntryWrite[]> {
  const writes: EntryWrite[] = [];
  for await (const { key } of allEntries(store, 'setting', [LOGIN_OF, user])) {
    writes.push(...removalsOf(lastOf(key), { user }));
  }
  return writes;
}

/** Returns null when the server is too busy to hash. The login succeeds; it is remembered the next time. */
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
