import { Refusal, type RefusalCode } from '@tidemark/protocol';
import type { EntryKind, Guard } from '../ports/store.ts';
import { quoted } from './admit-name.ts';

const MEANING: Partial<Record<EntryKind, { readonly what: string; readonly code: RefusalCode }>> = {
  user: { what: 'user', code: 'user_not_found' },
  // Of the settings, only the lives of users and the leases of refreshes guard anything.
  setting: { what: 'user', code: 'user_not_found' },
  source: { what: 'source', code: 'source_not_found' },
  client: { what: 'client', code: 'client_not_found' },
  user_client: { what: 'client', code: 'client_not_found' },
};

/** The first part of the keys under which leases of refreshes stand. */
export const REFRESH = 'refresh';

/** The refusal for something that was there when the call was admitted and is gone by now. */
export function refuseGone(guard: Guard): Refusal {
  if (guard.key[0] === REFRESH && guard.kind === 'setting') {
    return new Refusal('refresh_stale', 'another server refreshes this by now');
  }
  const meaning = MEANING[guard.kind];
  if (meaning === undefined) throw new Error(`nothing is guarded by a ${guard.kind}`);
  return new Refusal(meaning.code, `the ${meaning.what} ${quoted(guard.key.at(-1) ?? '')} was deleted meanwhile`);
}
