import type { Target } from '../admission/admit-write.ts';
import type { DocumentKey, DocumentScope, PartitionKey, Store } from '../ports/store.ts';
import { isoTime } from '../primitives/iso-time.ts';
import type { RefreshState } from './refresh-state.ts';

/** The document of a partition that tells what is wrong with it at this moment. */
const ERRORS = 'errors';
const QUERY = 'query';

/** Shows in the document what the query suffers from, or that it is well again. */
export async function noteErrors(store: Store, target: Target, state: RefreshState): Promise<void> {
  const { trouble, failures, retryAtMs } = state;
  const key = errorsOf(target.partition);
  const present = await store.readDocument(key);
  const parts = new Map(present?.type === 'objects' ? present.parts : []);
  parts.delete(QUERY);
  if (trouble !== null) parts.set(QUERY, JSON.stringify({ ...trouble, failures, retry_at: isoTime(retryAtMs) }));
  const expect = present?.version ?? 0;
  // Whoever writes to it at the same moment wins: the next refresh tells again.
  await store.writeDocument({ key, type: 'objects', replace: true, parts, expect, guards: target.guards });
}

function errorsOf({ source, user }: PartitionKey): DocumentKey {
  const scope: DocumentScope = user === null ? { kind: 'shared', source } : { kind: 'user', source, user };
  return { scope, name: ERRORS };
}
