import { nameProblem, Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { PRESENT, refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Entry, EntryRef, EntryWrite, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { sha256 } from '../primitives/sha256.ts';
import { loginRemovals } from './remembered-logins.ts';
import { type Identity, readUserRecord, type UserRecord, writeUserRecord } from './user-record.ts';

export interface IdentitiesPorts {
  readonly store: Store;
  readonly clock: Clock;
}

/** A sign-in that an identity provider has confirmed. */
export interface IdentitySignIn extends Identity {
  /** The login of the user if one is created or adopted now. Later sign-ins find the user by issuer and subject. */
  readonly login: string;
  /** True if an unknown identity gets a new user. */
  readonly mayCreate: boolean;
  /** True if an existing user of that login who has no identity yet becomes the user of this one. */
  readonly mayAdopt: boolean;
}

/** The users of identity providers. A user has at most one identity, and an identity at most one user. */
export class Identities {
  readonly #store: Store;
  readonly #clock: Clock;

  constructor({ store, clock }: IdentitiesPorts) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Returns the login of the identity's user. Creates or adopts the user if that is allowed. */
  userOf(signIn: IdentitySignIn): Promise<string> {
    return retryOnConflict(async () => {
      const known = await this.#store.readEntry(identityRef(signIn));
      if (known !== null) return known.value;
      if (nameProblem('login', signIn.login) !== null)
        throw unknownIdentity('has a name that is not allowed as a login');
      const user = await this.#store.readEntry(refs.user(signIn.login));
      const writes = user === null ? this.#creation(signIn) : await this.#adoption(signIn, user);
      const link = { ...identityRef(signIn), value: signIn.login, expect: 0 };
      const { status } = await this.#store.writeEntries({ writes: [link, ...writes], guards: [] });
      return status === 'written' ? signIn.login : null;
    });
  }

  #creation({ issuer, subject, login, mayCreate }: IdentitySignIn): readonly EntryWrite[] {
    if (!mayCreate) throw unknownIdentity('has no user, and its issuer may not create any');
    const nowMs = this.#clock.nowMs();
    const record: UserRecord = {
      ...{ attributes: {}, admin: false, credential: null, identity: { issuer, subject } },
      ...{ createdAtMs: nowMs, updatedAtMs: nowMs },
    };
    return [
      { ...refs.user(login), value: writeUserRecord(record), expect: 0 },
      { ...refs.generation(login), value: PRESENT },
    ];
  }

  /** Logins that a backend has confirmed are forgotten: from now on the identity provider decides. */
  async #adoption(
    { issuer, subject, login, mayAdopt }: IdentitySignIn,
    { value, version }: Entry,
  ): Promise<readonly EntryWrite[]> {
    const record = readUserRecord(value);
    if (!mayAdopt || record.admin || record.identity !== undefined) throw loginIsTaken(login);
    const adopted = { ...record, identity: { issuer, subject }, updatedAtMs: this.#clock.nowMs() };
    return [
      { ...refs.user(login), value: writeUserRecord(adopted), expect: version },
      ...(await loginRemovals(this.#store, login)),
    ];
  }
}

/** The entry that holds the login of an identity's user. The names are hashed, because both may be longer than a key. */
function identityRef({ issuer, subject }: Identity): EntryRef {
  return refs.identity(sha256(JSON.stringify([issuer, subject]), 'base64url'));
}

/** The removal of a user's identity, to be deleted with the user. */
export function identityRemovals({ identity }: UserRecord): readonly EntryWrite[] {
  return identity === undefined ? [] : [{ ...identityRef(identity), value: null }];
}

/** The login belongs to a user who is not this one. */
export function loginIsTaken(login: string): Refusal {
  return new Refusal('identity_conflict', `the login ${quoted(login)} belongs to a user who signs in another way`);
}

function unknownIdentity(why: string): Refusal {
  return new Refusal('identity_unknown', `the identity ${why}`);
}
