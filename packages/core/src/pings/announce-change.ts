import { PING_USERS_MAX, parseJson, Refusal } from '@tidemark/protocol';
import { lastOf } from '../entries/owner-index.ts';
import type { JobHandler, Jobs } from '../ports/jobs.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Pings } from './pings.ts';

/** A job that tells many users of a change, one page of them at a time. */
export const ANNOUNCE_KIND = 'announce';
export const ANNOUNCE_QUEUE = 'pings-announce';
const ATTEMPTS_MAX = 5;

interface AnnouncePayload {
  readonly source: string;
  /** Users after this one; null: from the first. */
  readonly after: string | null;
}

/** Whoever has something in the partition is told: its user, or everybody when it is shared. */
export async function announceChange(pings: Pings, jobs: Jobs, { source, user }: PartitionKey): Promise<void> {
  if (user !== null) await pings.announce(source, [user]);
  else await enqueue(jobs, { source, after: null });
}

/** Tells the users of a shared source. Each job tells a bounded number of them and leaves a job for those after. */
export function announceToAll(store: Store, pings: Pings, jobs: Jobs): JobHandler {
  return async ({ payload }) => {
    const { source, after } = parseJson(payload) as AnnouncePayload;
    const from = after === null ? {} : { after: [after] };
    const page = await store.listEntries({ kind: 'user', prefix: [], limit: PING_USERS_MAX, ...from });
    const users = page.map(({ key }) => lastOf(key));
    const last = users.at(-1);
    if (last === undefined) return;
    await announceInParts(pings, source, users);
    if (users.length === PING_USERS_MAX) await enqueue(jobs, { source, after: last });
  };
}

/** Users with very many devices do not fit into one ping together. One alone always does. */
async function announceInParts(pings: Pings, source: string, users: readonly string[]): Promise<void> {
  try {
    await pings.announce(source, users);
  } catch (error) {
    const isTooMany = error instanceof Refusal && error.code === 'limit_exceeded' && users.length > 1;
    if (!isTooMany) throw error;
    const half = Math.ceil(users.length / 2);
    await announceInParts(pings, source, users.slice(0, half));
    await announceInParts(pings, source, users.slice(half));
  }
}

async function enqueue(jobs: Jobs, payload: AnnouncePayload): Promise<void> {
  await jobs.enqueue(ANNOUNCE_QUEUE, {
    kind: ANNOUNCE_KIND,
    payload: JSON.stringify(payload),
    attemptsMax: ATTEMPTS_MAX,
  });
}
