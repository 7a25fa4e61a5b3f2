import { INVITE_S_DEFAULT, INVITE_S_MAX, INVITE_S_MIN, parseJson, pointer, Refusal } from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { generationGuard } from '../admission/admit-write.ts';
import { allEntries } from '../entries/all-entries.ts';
import { ownerTouched } from '../entries/owner-index.ts';
import { INVITE, refs } from '../entries/refs.ts';
import { type Clock, isAhead } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { EntryRef, EntryWrite, Store } from '../ports/store.ts';
import { isBase62, randomId } from '../primitives/base62.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { sha256 } from '../primitives/sha256.ts';
import { isoTime } from '../primitives/time.ts';

export interface InvitesPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** A new invite. Only this answer holds the code. */
export interface IssuedInvite {
  readonly user_id: string;
  readonly code: string;
  readonly expires_at: string;
}

/** The user of an invite. */
export interface InvitedUser {
  readonly login: string;
  /** Differs for every user who is given the same login. */
  readonly generation: number;
}

export interface InviteOptions {
  readonly lifetimeS?: number | undefined;
  /** True: the invite that was made without this option stays valid. */
  readonly keepsEarlier?: boolean | undefined;
}

interface InviteRecord extends InvitedUser {
  /** Absent: false. */
  readonly keepsEarlier?: boolean;
  readonly createdAtMs: number;
  readonly expiresAtMs: number;
}

const PREFIX = 'tmi_';
const CODE_UNITS_MAX = 64;

/** Codes with which a device signs in once, without a password. The store holds only their hashes. */
export class Invites {
  readonly #ports: InvitesPorts;

  constructor(ports: InvitesPorts) {
    this.#ports = ports;
  }

  /** Makes a code for a user. An earlier one of the same user that was made with the same `keepsEarlier` ends. */
  async issue(
    user: unknown,
    { lifetimeS = INVITE_S_DEFAULT, keepsEarlier = false }: InviteOptions = {},
  ): Promise<IssuedInvite> {
    const login = admitName('login', user, pointer('user_id'));
    if (!Number.isSafeInteger(lifetimeS) || lifetimeS < INVITE_S_MIN || lifetimeS > INVITE_S_MAX) {
      const detail = `must be a whole number from ${INVITE_S_MIN} to ${INVITE_S_MAX}`;
      throw new Refusal('invalid_value', `expires_in_s ${detail}`, [{ pointer: pointer('expires_in_s'), detail }]);
    }
    const { store, clock, random } = this.#ports;
    const code = PREFIX + randomId(random);
    const hash = sha256(code, 'hex');
    return retryOnConflict(async () => {
      const generation = (await store.readEntry(refs.generation(login)))?.version;
      if (generation === undefined) throw new Refusal('user_not_found', `there is no user ${quoted(login)}`);
      const createdAtMs = clock.nowMs();
      const expiresAtMs = createdAtMs + lifetimeS * 1_000;
      const record: InviteRecord = { login, generation, keepsEarlier, createdAtMs, expiresAtMs };
      const index = indexOf(record);
      const before = await store.readEntry(index);
      const writes: EntryWrite[] = [
        { ...refs.invite(hash), value: JSON.stringify(record) },
        { ...index, value: hash, expect: before?.version ?? 0 },
        ...(before === null ? [] : [{ ...refs.invite(before.value), value: null }]),
        // A deletion of the user and a change of the password must see this new entry.
        ownerTouched('user', login),
      ];
      const { status } = await store.writeEntries({ writes, guards: [generationGuard(login, generation)] });
      return status === 'written' ? { user_id: login, code, expires_at: isoTime(record.expiresAtMs) } : null;
    });
  }

  /**
   * Returns the user of a code and uses it up; null if it is unknown, used, replaced or expired. It stays valid if
   * `keepsFor` returns true for the user.
   */
  async redeem(
    code: string,
    keepsFor: (login: string) => Promise<boolean> = async () => false,
  ): Promise<InvitedUser | null> {
    if (code.length > CODE_UNITS_MAX || !code.startsWith(PREFIX) || !isBase62(code.slice(PREFIX.length))) return null;
    const { store, clock } = this.#ports;
    const hash = sha256(code, 'hex');
    const entry = await store.readEntry(refs.invite(hash));
    if (entry === null) return null;
    const record = parseJson(entry.value) as InviteRecord;
    const { login, generation, createdAtMs, expiresAtMs } = record;
    const nowMs = clock.nowMs();
    const user = expiresAtMs <= nowMs || isAhead(createdAtMs, nowMs) ? null : { login, generation };
    if (user !== null && (await keepsFor(login))) return user;
    const writes: EntryWrite[] = [
      { ...refs.invite(hash), value: null, expect: entry.version },
      { ...indexOf(record), value: null },
    ];
    // Of several devices that use it at the same time, one succeeds.
    return (await store.writeEntries({ writes, guards: [] })).status === 'written' ? user : null;
  }

  /** Deletes expired invites, and those of a clock that was ahead, which would live too long. */
  async trim(): Promise<void> {
    const { store, clock } = this.#ports;
    const nowMs = clock.nowMs();
    for await (const { key, value, version } of allEntries(store, 'setting', [INVITE])) {
      const record = parseJson(value) as InviteRecord;
      if (record.expiresAtMs > nowMs && !isAhead(record.createdAtMs, nowMs)) continue;
      const writes = [{ kind: 'setting' as const, key, value: null, expect: version }];
      await store.writeEntries({ writes: [...writes, { ...indexOf(record), value: null }], guards: [] });
    }
  }
}

/** Returns the entry that names an invite by its user. */
function indexOf({ login, keepsEarlier = false }: Pick<InviteRecord, 'login' | 'keepsEarlier'>): EntryRef {
  return keepsEarlier ? refs.secondInviteOf(login) : refs.inviteOf(login);
}

/** The removals of a user's invites, to be deleted with the user or when the password changes. */
export async function inviteRemovals(store: Store, login: string): Promise<readonly EntryWrite[]> {
  const removals: EntryWrite[] = [];
  for (const index of [refs.inviteOf(login), refs.secondInviteOf(login)]) {
    const entry = await store.readEntry(index);
    if (entry !== null) removals.push({ ...refs.invite(entry.value), value: null }, { ...index, value: null });
  }
  return removals;
}
