import { Refusal, type RefusalCode } from '@tidemark/protocol';
import type { EntryKind, Guard } from '../ports/store.ts';
import { quoted } from './admit-name.ts';

const MEANING: Partial<Record<EntryKind, { readonly what: string; readonly code: RefusalCode }>> = {
  user: { what: 'user', code: 'user_not_found' },
  // The only settings used as guards are lives of users, leases of refreshes and memberships in groups.
  setting: { what: 'user', code: 'user_not_found' },
  source: { what: 'source', code: 'source_not_found' },
  client: { what: 'client', code: 'client_not_found' },
  user_client: { what: 'client', code: 'client_not_found' },
};

/** The first part of the keys of refresh leases. */
export const REFRESH = 'refresh';
/** The first part of the keys of memberships in groups; the group and the user follow. */
export const GROUP_MEMBER = 'group_member';

/** Returns the refusal for a guard entry that was deleted after the call was admitted. */
export function refuseGone(guard: Guard): Refusal {
  if (guard.key[0] === REFRESH && guard.kind === 'setting') {
    return new Refusal('refresh_stale', 'another server has taken over this refresh');
  }
  if (guard.key[0] === GROUP_MEMBER && guard.kind === 'setting') {
    return new Refusal('not_a_member', `the user has left the group ${quoted(guard.key[1] ?? '')} meanwhile`);
  }
  if (guard.kind === 'source' && guard.version !== undefined) {
    return new Refusal('write_conflict', `the source ${quoted(guard.key[0] ?? '')} was changed meanwhile`);
  }
  const meaning = MEANING[guard.kind];
  if (meaning === undefined) throw new Error(`nothing is guarded by a ${guard.kind}`);
  return new Refusal(meaning.code, `the ${meaning.what} ${quoted(guard.key.at(-1) ?? '')} was deleted meanwhile`);
}
