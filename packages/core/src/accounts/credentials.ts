import { nameProblem, Refusal } from '@tidemark/protocol';
import { refs } from '../entries/refs.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { Random } from '../ports/random.ts';
import type { Entry, Store } from '../ports/store.ts';
import { randomId } from '../primitives/base62.ts';
import { passwordProblem } from './admit-password.ts';
import { type Credential, readUserRecord, writeUserRecord } from './user-record.ts';

export interface CredentialsPorts {
  readonly store: Store;
  readonly random: Random;
  readonly passwords: Passwords;
}

/** A user whose password was just verified. */
export interface VerifiedUser {
  readonly login: string;
  readonly admin: boolean;
  /** Identifies the verified password. A token issued for it is revoked if the password changes meanwhile. */
  readonly stamp: string;
}

/** Makes and checks what proves a user's password. */
export class Credentials {
  readonly #ports: CredentialsPorts;
  #nobodysHash: Promise<string> | null = null;

  constructor(ports: CredentialsPorts) {
    this.#ports = ports;
  }

  async make(password: string): Promise<Credential> {
    return { passwordHash: await this.#ports.passwords.hash(password), stamp: randomId(this.#ports.random) };
  }

  /** Returns the user of login and password, or null. Neither answer nor time reveals which of the two is wrong. */
  async verify(login: string, password: string): Promise<VerifiedUser | null> {
    if (passwordProblem(password) !== null) return null;
    const nobodysHash = await this.#hashOfNobody();
    const entry = nameProblem('login', login) === null ? await this.#ports.store.readEntry(refs.user(login)) : null;
    const record = entry === null ? null : readUserRecord(entry.value);
    const credential = record?.credential ?? null;
    const isRight = await this.#ports.passwords.verify(password, credential?.passwordHash ?? nobodysHash);
    if (!isRight || entry === null || record === null || credential === null) return null;
    if (this.#ports.passwords.isOutdated(credential.passwordHash)) await this.#rehash(login, password, entry);
    return { login, admin: record.admin, stamp: credential.stamp };
  }

  /**
   * Replaces an outdated hash while the password is known. The stamp stays, because the password is the same. A failure
   * does not fail the login; the next login tries again.
   */
  async #rehash(login: string, password: string, { value, version }: Entry): Promise<void> {
    const record = readUserRecord(value);
    if (record.credential === null) return;
    try {
      const credential = { ...record.credential, passwordHash: await this.#ports.passwords.hash(password) };
      const write = { ...refs.user(login), value: writeUserRecord({ ...record, credential }), expect: version };
      await this.#ports.store.writeEntries({ writes: [write], guards: [] });
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }

  /** The hash of a random password. Verifying against it makes an unknown user cost the same as a wrong password. */
  #hashOfNobody(): Promise<string> {
    this.#nobodysHash ??= this.#ports.passwords.hash(randomId(this.#ports.random)).catch((error: unknown) => {
      this.#nobodysHash = null;
      throw error;
    });
    return this.#nobodysHash;
  }
}
