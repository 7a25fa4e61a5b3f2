import { Refusal, type RefusalCode } from '@tidemark/protocol';
import type { EntryKind, EntryRef } from '../ports/store.ts';
import { quoted } from './admit-name.ts';

const CODE_OF: Partial<Record<EntryKind, RefusalCode>> = {
  user: 'user_not_found',
  source: 'source_not_found',
  client: 'client_not_found',
};

/** The refusal for something that was there when the call was admitted and is gone by now. */
export function refuseGone(guard: EntryRef): Refusal {
  const code = CODE_OF[guard.kind];
  if (code === undefined) throw new Error(`nothing is guarded by a ${guard.kind}`);
  return new Refusal(code, `the ${guard.kind} ${quoted(guard.key.at(-1) ?? '')} was deleted meanwhile`);
}
