import { DETAILS_USER_DEVICES_MAX, type JsonValue, type ListedUser, pointer, type UserList } from '@tidemark/protocol';
import { admitName } from '../admission/admit-name.ts';
import { type ClientRecord, lastContactMs, readClientRecord } from '../devices/client-record.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { elapsedMs } from '../ports/clock.ts';
import type { Entry } from '../ports/store.ts';
import { isoTime, isoTimeOrNull } from '../primitives/time.ts';
import { BehindReader } from './behind-reader.ts';
import type { ClientListingParts, FindListening } from './client-list.ts';
import { admitListLimit, scanEntries, textFilter } from './scan-entries.ts';

/** What the listing needs of a stored user. */
export interface UserFacts {
  readonly admin: boolean;
  readonly attributes: Readonly<Record<string, JsonValue>>;
  readonly createdAtMs: number;
}

export interface UserListingParts extends ClientListingParts {
  readonly readUser: (text: string) => UserFacts;
}

export interface UserListCall {
  readonly findListening: FindListening;
  /** The last login of the previous page. */
  readonly after?: string;
  readonly limit?: number;
  readonly text?: string;
  readonly group?: string;
  readonly behind?: boolean;
  readonly not_seen_days?: number;
  readonly created_days?: number;
  /** True: only users with devices; false: only users without. */
  readonly has_devices?: boolean;
}

interface Candidate {
  readonly login: string;
  readonly user: UserFacts;
  readonly groups: readonly string[];
  readonly devices: number;
}

const DAY_MS = 86_400_000;

/** Lists all users, by login, with what is known of their devices. */
export class UserListing {
  readonly #parts: UserListingParts;

  constructor(parts: UserListingParts) {
    this.#parts = parts;
  }

  async page(call: UserListCall): Promise<UserList> {
    const { store } = this.#parts;
    const reader = new BehindReader(this.#parts);
    const { rows, examined, next } = await scanEntries<Candidate, ListedUser>(store, {
      kind: 'user',
      prefix: [],
      limit: admitListLimit(call.limit),
      ...(call.after === undefined ? {} : { after: [admitName('login', call.after, pointer('after'))] }),
      prepare: this.#preparation(call),
      finish: (candidate) => this.#rowOf(candidate, call, reader),
      isSpent: () => reader.isSpent,
    });
    const total = await store.countEntries('user');
    return { users: [...rows], total, examined, next: next === null ? null : lastOf(next) };
  }

  #preparation(call: UserListCall): (entries: readonly Entry[]) => Promise<readonly (Candidate | null)[]> {
    const { store, sources, pace } = this.#parts;
    const isNamed = textFilter(call.text);
    return async (entries) => {
      await pace.turn();
      return Promise.all(
        entries.map(async ({ key, value }): Promise<Candidate | null> => {
          const login = lastOf(key);
          const user = this.#parts.readUser(value);
          if (!this.#isCreatedAsWanted(user, call)) return null;
          const { groups } = await sources.memberships.groups.of(login);
          if (call.group !== undefined && !groups.includes(call.group)) return null;
          if (!isNamed([login, ...groups, ...textsOf(user)])) return null;
          const devices = await store.countEntries('user_client', [login]);
          if (call.has_devices !== undefined && call.has_devices !== devices > 0) return null;
          return { login, user, groups, devices };
        }),
      );
    };
  }

  #isCreatedAsWanted({ createdAtMs }: UserFacts, { created_days }: UserListCall): boolean {
    return created_days === undefined || elapsedMs(createdAtMs, this.#parts.clock.nowMs()) < created_days * DAY_MS;
  }

  async #rowOf(candidate: Candidate, call: UserListCall, reader: BehindReader): Promise<ListedUser | null> {
    const { login, user, groups, devices } = candidate;
    const records = devices === 0 ? [] : await this.#devicesOf(login);
    await reader.countReads(records.length);
    const online = records.length === 0 ? 0 : (await call.findListening(records.map(([id]) => id))).size;
    const seenMs = records.length === 0 ? null : Math.max(...records.map(([, device]) => lastContactMs(device)));
    if (call.not_seen_days !== undefined) {
      const isAway = elapsedMs(seenMs ?? user.createdAtMs, this.#parts.clock.nowMs()) >= call.not_seen_days * DAY_MS;
      if (online > 0 || !isAway) return null;
    }
    let behind: number | null = null;
    for (const [id, record] of records) {
      const missing = await reader.changesBehind(id, record);
      if (missing !== null) behind = (behind ?? 0) + missing;
    }
    if (call.behind === true && (behind ?? 0) === 0) return null;
    const times = { created_at: isoTime(user.createdAtMs), last_seen: isoTimeOrNull(seenMs) };
    return { login, admin: user.admin, ...times, devices, online, groups: [...groups], behind };
  }

  /** The first devices of a user, by id. */
  async #devicesOf(login: string): Promise<readonly (readonly [id: string, record: ClientRecord])[]> {
    const { store } = this.#parts;
    const list = { kind: 'user_client', prefix: [login], limit: DETAILS_USER_DEVICES_MAX } as const;
    const ids = (await store.listEntries(list)).map(({ key }) => lastOf(key));
    const entries = await Promise.all(ids.map((id) => store.readEntry(refs.client(id))));
    return ids.flatMap((id, index) => {
      const entry = entries[index] ?? null;
      return entry === null ? [] : [[id, readClientRecord(entry.value)] as const];
    });
  }
}

/** The attributes of a user that are texts, such as a name or an address. */
function textsOf({ attributes }: UserFacts): readonly string[] {
  return Object.values(attributes).filter((value): value is string => typeof value === 'string');
}
