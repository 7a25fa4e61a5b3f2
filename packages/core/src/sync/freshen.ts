import type { PartialError } from '@tidemark/protocol';
import { callFor } from '../admission/admit-write.ts';
import { readToken } from '../pages/token.ts';
import type { PartitionKey } from '../ports/store.ts';
import type { Refresher } from '../refresh/refresher.ts';
import { NO_ADAPTER } from '../sources/source-record.ts';
import type { SourceView } from '../sources/sources.ts';

/**
 * Asks the backend for what is new, if there is one to ask and it is time. Answers what went wrong. A device that is only
 * half-way through its pages goes on with what there was when it began.
 */
export function freshen(
  refresher: Pick<Refresher, 'ensureFresh'>,
  partition: PartitionKey,
  { adapter }: SourceView,
  token: string | null,
): Promise<PartialError | null> {
  if (adapter === NO_ADAPTER || (token !== null && isHalfWay(token))) return Promise.resolve(null);
  return refresher.ensureFresh(callFor(partition));
}

function isHalfWay(text: string): boolean {
  const token = readToken(text);
  return token !== null && (token.baseline.kind === 'start' || token.baseline.seq !== token.seq);
}
