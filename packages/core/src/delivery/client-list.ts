import { type ClientList, type ListedClient, pointer, Refusal } from '@tidemark/protocol';
import { admitName } from '../admission/admit-name.ts';
import { BLANK_DEVICE, type ClientRecord, lastContactMs, readClientRecord } from '../devices/client-record.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Entry } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import { type AppVersion, isBelow, readVersion } from './app-version.ts';
import { BehindReader, type BehindReaderParts } from './behind-reader.ts';
import { admitListLimit, notAllowed, scanEntries, textFilter } from './scan-entries.ts';

export interface ClientListingParts extends BehindReaderParts {
  readonly clock: Clock;
}

/** Returns those of the devices that listen for events now, at any server. */
export type FindListening = (clients: readonly string[]) => Promise<ReadonlySet<string>>;

export interface ClientListCall {
  readonly findListening: FindListening;
  /** The `next` of the previous page. */
  readonly after?: string;
  readonly limit?: number;
  readonly text?: string;
  readonly user_id?: string;
  /** True: only devices that miss changes. */
  readonly behind?: boolean;
  readonly online?: boolean;
  readonly not_seen_days?: number;
  readonly app_version_below?: string;
}

/** A device that has passed the filters that cost little. */
interface Candidate {
  readonly id: string;
  readonly record: ClientRecord;
  readonly isOnline: boolean;
}

const DAY_MS = 86_400_000;

/** Lists the devices of all users, by user and id, which is the order of an index that exists. */
export class ClientListing {
  readonly #parts: ClientListingParts;

  constructor(parts: ClientListingParts) {
    this.#parts = parts;
  }

  async page(call: ClientListCall): Promise<ClientList> {
    const { store } = this.#parts;
    const reader = new BehindReader(this.#parts);
    const prefix = call.user_id === undefined ? [] : [admitName('login', call.user_id, pointer('user_id'))];
    const { rows, examined, next } = await scanEntries<Candidate, ListedClient>(store, {
      kind: 'user_client',
      prefix,
      limit: admitListLimit(call.limit),
      ...(call.after === undefined ? {} : { after: readCursor(call.after, call.user_id) }),
      prepare: this.#preparation(call),
      finish: async (candidate) => {
        const behind = await reader.changesBehind(candidate.id, candidate.record);
        return call.behind === true && (behind ?? 0) === 0 ? null : rowOf(candidate, behind);
      },
      isSpent: () => reader.isSpent,
    });
    const total = await store.countEntries('client');
    return { clients: [...rows], total, examined, next: next === null ? null : writeCursor(next) };
  }

  #preparation(call: ClientListCall): (entries: readonly Entry[]) => Promise<readonly (Candidate | null)[]> {
    const { store, pace } = this.#parts;
    const isNamed = textFilter(call.text);
    const below = call.app_version_below === undefined ? null : admitVersion(call.app_version_below);
    return async (entries) => {
      await pace.turn();
      const ids = entries.map(({ key }) => lastOf(key));
      const stored = await Promise.all(ids.map((id) => store.readEntry(refs.client(id))));
      const found = stored.map((entry) => (entry === null ? null : readClientRecord(entry.value)));
      const wanted = found.map((record, index) => {
        if (record === null || !isNamed([ids[index] ?? '', ...deviceTexts(record)])) return null;
        return below === null || isVersionBelow(record, below) ? record : null;
      });
      const listening = await call.findListening(ids.filter((_id, index) => wanted[index] !== null));
      return wanted.map((record, index) => {
        const id = ids[index] ?? '';
        const isOnline = listening.has(id);
        return record === null || !this.#isSeenAsWanted(record, isOnline, call) ? null : { id, record, isOnline };
      });
    };
  }

  #isSeenAsWanted(record: ClientRecord, isOnline: boolean, call: ClientListCall): boolean {
    if (call.online !== undefined && call.online !== isOnline) return false;
    if (call.not_seen_days === undefined) return true;
    return !isOnline && elapsedMs(lastContactMs(record), this.#parts.clock.nowMs()) >= call.not_seen_days * DAY_MS;
  }
}

/** Everything about a device that can be searched for. */
export function deviceTexts({ user, device, label }: ClientRecord): readonly (string | null)[] {
  const { device_name, device_platform, device_system, device_app_id, device_app_version } = {
    ...BLANK_DEVICE,
    ...device,
  };
  return [user, label ?? null, device_name, device_platform, device_system, device_app_id, device_app_version];
}

/** A device that does not say its version is not known to be below any. */
function isVersionBelow({ device }: ClientRecord, wanted: AppVersion): boolean {
  const version = readVersion(device.device_app_version ?? '');
  return version !== null && isBelow(version, wanted);
}

function rowOf({ id, record, isOnline }: Candidate, behind: number | null): ListedClient {
  const { user, createdAtMs, wipe } = record;
  const { device_name, device_platform, device_system, device_app_id, device_app_version, schema_versions } = {
    ...BLANK_DEVICE,
    ...record.device,
  };
  return {
    ...{ client_id: id, user_id: user, label: record.label ?? null, device_name, device_platform, device_system },
    ...{ device_app_id, device_app_version, schema_versions },
    created_at: isoTime(createdAtMs),
    last_contact: isoTime(lastContactMs(record)),
    online: isOnline,
    behind,
    wipe: wipe === undefined ? 'none' : wipe.confirmedAtMs === null ? 'ordered' : 'confirmed',
  };
}

function admitVersion(text: string): AppVersion {
  const version = readVersion(text);
  if (version === null) throw notAllowed('app_version_below', 'must be a version such as 2.4.0');
  return version;
}

/** The last device of a page: its user, so that the next page is found also if the device was deleted, and its id. */
function writeCursor(key: readonly string[]): string {
  return key.map(encodeURIComponent).join('/');
}

function readCursor(text: string, wantedUser: string | undefined): readonly string[] {
  const at = pointer('after');
  try {
    const [login, client, ...rest] = text.split('/').map(decodeURIComponent);
    const cursor = [admitName('login', login, at), admitName('client', client, at)];
    if (rest.length === 0 && (wantedUser === undefined || login === wantedUser)) return cursor;
  } catch {
    // Not an encoded text, or not names.
  }
  const detail = 'must be the `next` of the previous page';
  throw new Refusal('invalid_request', `after ${detail}`, [{ pointer: at, detail }]);
}
