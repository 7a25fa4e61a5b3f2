import { type PartialError, Refusal } from '@tidemark/protocol';
import type { Target } from '../admission/admit-write.ts';
import { AdapterRefusal } from '../ports/adapter.ts';
import { scopeOf } from '../ports/store/documents.ts';
import type { DocumentKey, PartitionKey, Store } from '../ports/store.ts';
import { isoTime } from '../primitives/time.ts';
import type { RefreshState } from './refresh-state.ts';

export interface RefreshFailure {
  /** What devices and operators are told. */
  readonly trouble: PartialError;
  /** The least time to wait before the next attempt. */
  readonly retryAfterMs: number;
}

const MS_PER_S = 1_000;
/** The document of a partition that shows its present errors, and the member of it that belongs to queries. */
const ERRORS = 'errors';
const QUERY = 'query';

/** Describes a failed query. The message of an error that is no refusal goes only to the log. */
export function refreshFailureOf(error: unknown): RefreshFailure {
  if (error instanceof Refusal) {
    return {
      trouble: { code: error.code, detail: error.message },
      retryAfterMs: (error.retryAfterS ?? 0) * MS_PER_S,
    };
  }
  const detail = error instanceof AdapterRefusal ? error.message : 'the adapter of the source failed';
  return { trouble: { code: 'backend_error', detail }, retryAfterMs: 0 };
}

/** Writes to the document `errors` why the query fails, or removes that once it succeeds. */
export async function writeErrors(store: Store, target: Target, state: RefreshState): Promise<void> {
  const { trouble, failures, retryAtMs } = state;
  const key = errorsOf(target.partition);
  const present = await store.readDocument(key);
  const parts = new Map(present?.type === 'objects' ? present.parts : []);
  parts.delete(QUERY);
  if (trouble !== null) parts.set(QUERY, JSON.stringify({ ...trouble, failures, retry_at: isoTime(retryAtMs) }));
  const expect = present?.version ?? 0;
  // A conflict is ignored: the next refresh writes again.
  await store.writeDocument({ key, type: 'objects', replace: true, parts, expect, guards: target.guards });
}

function errorsOf(partition: PartitionKey): DocumentKey {
  return { scope: scopeOf(partition), name: ERRORS };
}
