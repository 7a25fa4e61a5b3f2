import { parseJson } from '@tidemark/protocol';
import { ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Guard, PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import type { Sources } from '../sources/sources.ts';

export interface NoticePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sources: Sources;
}

/** What somebody was told last, by whichever server. */
interface Told {
  /** As in the key of the partition that was told of. */
  readonly owner: string | null;
  readonly epoch: string;
  readonly head: number;
  readonly atMs: number;
}

/**
 * `tell`: it is this server's turn. `told`: another has told of all there is. `wait`: another has told a moment ago, of
 * less than there is now.
 */
export type PushNoticeDecision = 'tell' | 'told' | 'wait';

/**
 * Whether to tell the user of a source now, or everybody if that is null. Every server collects the changes that went
 * through it, and all of them are due at about the same time: the store keeps what was told last, so that one of them
 * tells it, and not more often than once in `everyMs` whoever it is. Clocks that differ change the pace, and nothing
 * about what is told in the end.
 */
export function claimPushNotice(ports: NoticePorts, told: PartitionKey, everyMs: number): Promise<PushNoticeDecision> {
  const { store, clock } = ports;
  const ref = refs.noticed(told);
  return retryOnConflict(async () => {
    const entry = await store.readEntry(ref);
    // Read after what was told: another server that tells meanwhile makes the write fail.
    const now = { ...(await standOf(ports, told)), atMs: clock.nowMs() };
    const last = entry === null ? null : (parseJson(entry.value) as Told);
    if (last !== null && holds(last, now)) return 'told';
    if (last !== null && elapsedMs(last.atMs, now.atMs) < everyMs) return 'wait';
    const write = { ...ref, value: JSON.stringify(now), expect: entry?.version ?? 0 };
    // Whoever drops the source must find an entry that is new.
    const news = entry === null ? [ownerTouched('source', told.source)] : [];
    const result = await store.writeEntries({ writes: [write, ...news], guards: guardsOf(told) });
    // When the source or the user is gone, nobody is left to be told.
    if (result.status === 'gone') return 'told';
    return result.status === 'written' ? 'tell' : null;
  });
}

/** How it stands with the partition the user is in, which may be shared with others. */
async function standOf({ store, sources }: NoticePorts, { source, user }: PartitionKey): Promise<Omit<Told, 'atMs'>> {
  const { partition } =
    user === null
      ? { partition: { source, user } }
      : await sources.memberships.knownPlaceOf(await sources.view(source), user);
  const { epoch, head } = await store.partition(partition);
  return { owner: partition.user, epoch, head };
}

/** Returns true when the notice of `last` covers the state `now`: same partition, same epoch, and no later head. */
function holds(last: Told, now: Told): boolean {
  return last.owner === now.owner && last.epoch === now.epoch && last.head >= now.head;
}

function guardsOf({ source, user }: PartitionKey): readonly Guard[] {
  return user === null ? [refs.source(source)] : [refs.source(source), refs.life(user)];
}
