import { parseJson } from '@tidemark/protocol';
import { ownerText, readOwner } from '../ports/owner.ts';
import type { PartitionKey } from '../ports/store.ts';

export const REFRESH_KIND = 'refresh';

/** What a job that refreshes a partition says. */
interface RefreshPayload {
  readonly source: string;
  /** The text of the owner. */
  readonly user: string | null;
}

export function payloadOf({ source, owner }: PartitionKey): string {
  const payload: RefreshPayload = { source, user: ownerText(owner) };
  return JSON.stringify(payload);
}

export function readPayload(text: string): PartitionKey {
  const { source, user } = parseJson(text) as RefreshPayload;
  return { source, owner: readOwner(user) };
}
