import { Refusal, type RefusalCode } from '@tidemark/protocol';
import type { EntryKind, Guard } from '../ports/store.ts';
import { quoted } from './admit-name.ts';

const MEANING: Partial<Record<EntryKind, { readonly what: string; readonly code: RefusalCode }>> = {
  user: { what: 'user', code: 'user_not_found' },
  // The only settings that guard anything are the lives of users.
  setting: { what: 'user', code: 'user_not_found' },
  source: { what: 'source', code: 'source_not_found' },
  client: { what: 'client', code: 'client_not_found' },
  user_client: { what: 'client', code: 'client_not_found' },
};

/** The refusal for something that was there when the call was admitted and is gone by now. */
export function refuseGone(guard: Guard): Refusal {
  const meaning = MEANING[guard.kind];
  if (meaning === undefined) throw new Error(`nothing is guarded by a ${guard.kind}`);
  return new Refusal(meaning.code, `the ${meaning.what} ${quoted(guard.key.at(-1) ?? '')} was deleted meanwhile`);
}
