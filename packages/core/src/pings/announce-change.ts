import { PING_USERS_MAX, parseJson, Refusal } from '@tidemark/protocol';
import { lastOf } from '../entries/owner-index.ts';
import type { JobHandler, Jobs } from '../ports/jobs.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Pings } from './pings.ts';

/** The kind of jobs that ping many users about a change, one page of users at a time. */
export const ANNOUNCE_KIND = 'announce';
export const ANNOUNCE_QUEUE = 'pings-announce';
const ATTEMPTS_MAX = 5;

interface AnnouncePayload {
  readonly source: string;
  /** The last user of the previous page; null for the first page. */
  readonly after: string | null;
}

/** Pings the user of the partition, or all users when the partition is shared. */
export async function announceChange(pings: Pings, jobs: Jobs, { source, owner }: PartitionKey): Promise<void> {
  if (owner.kind === 'user') await announceInParts(pings, source, [owner.login]);
  else if (owner.kind === 'shared') await enqueue(jobs, { source, after: null });
}

/** Returns the handler that pings the users of a shared source. Each job pings one page and enqueues the next. */
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

/** Splits users whose devices do not fit into one ping. A single user with too many devices is not pinged. */
async function announceInParts(pings: Pings, source: string, users: readonly string[]): Promise<void> {
  try {
    await pings.announce(source, users);
  } catch (error) {
    if (!(error instanceof Refusal) || error.code !== 'limit_exceeded') throw error;
    if (users.length === 1) return;
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
