import { Refusal, type RefusalCode } from '@tidemark/protocol';
import type { EntryKind, Guard } from '../ports/store.ts';
import { quoted } from './admit-name.ts';

const CODE_OF: Partial<Record<EntryKind, RefusalCode>> = {
  user: 'user_not_found',
  // The only settings that guard anything are the lives of users.
  setting: 'user_not_found',
  source: 'source_not_found',
  client: 'client_not_found',
};

/** The refusal for something that was there when the call was admitted and is gone by now. */
export function refuseGone(guard: Guard): Refusal {
  const code = CODE_OF[guard.kind];
  if (code === undefined) throw new Error(`nothing is guarded by a ${guard.kind}`);
  return new Refusal(
    code,
    `the ${guard.kind === 'setting' ? 'user' : guard.kind} ${quoted(guard.key.at(-1) ?? '')} was deleted meanwhile`,
  );
}
