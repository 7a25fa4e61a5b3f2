import type { LocalRow } from '@tidemark/client';
import type { JsonValue } from '@tidemark/protocol';
import type { Salvage } from './salvage.ts';

/** What another database takes over from a damaged one. */
export interface Saved {
  /** The changes made here that the device goes on with: those that wait to be sent, and those whose effect had not come back yet. */
  readonly savedUploads: number;
  /** Changes that could be read and were left behind, because nobody knows whose they are. */
  readonly leftUploads: number;
  /** False: there may have been more changes than could be read. */
  readonly isWhole: boolean;
}

/** The facts that say whose data a device holds. */
const [OWNER, SESSION] = ['owner', 'session'];
/** What queries showed last. Its objects are not taken over. */
const LAST_RESULTS = 'last_results';

/**
 * Chooses the rows that a new database begins with. Changes must not become those of the next user who signs in: if it cannot be read
 * whose they are, nothing is taken over.
 */
export function savedRows({ rows, isWhole }: Salvage): Saved & { readonly rows: readonly LocalRow[] } {
  const all = rows.filter((row) => !isFact(row, LAST_RESULTS));
  const uploads = all.filter(({ table }) => table === 'uploads').length;
  const owner = all.find((row) => isFact(row, OWNER)) ?? ownerOf(all.find((row) => isFact(row, SESSION)));
  // The names of facts may be sealed. If all of them are here, the owner is among them.
  if (owner === undefined && !isWhole) return { rows: [], savedUploads: 0, leftUploads: uploads, isWhole };
  const others = all.filter((row) => !isFact(row, OWNER));
  const saved = owner === undefined ? all : [owner, ...others];
  return { rows: saved, savedUploads: uploads, leftUploads: 0, isWhole };
}

function isFact({ table, key: [first, name] }: LocalRow, fact: string): boolean {
  return table === 'facts' && first === '' && name === fact;
}

/** The session names its owner, too. */
function ownerOf(session: LocalRow | undefined): LocalRow | undefined {
  if (session === undefined) return undefined;
  const { userId, clientId, generation } = session.value as Readonly<Record<string, JsonValue>>;
  if (userId === undefined || clientId === undefined) return undefined;
  const value = { userId, clientId, ...(generation === undefined ? {} : { generation }) };
  return { table: 'facts', key: ['', OWNER], value };
}
