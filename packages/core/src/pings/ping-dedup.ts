import { parseJson, textChecksum } from '@tidemark/protocol';
import { ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import { ownerText } from '../ports/owner.ts';
import type { Guard, PartitionKey, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import type { Sources } from '../sources/sources.ts';

export interface NoticePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly sources: Sources;
}

/** The last push notice, of whichever server. */
export interface PushNotice {
  /** `user` of the partition key. */
  readonly owner: string | null;
  readonly epoch: string;
  readonly head: number;
  readonly atMs: number;
  /** The repetition that is planned; absent: none is. */
  readonly repeat?: PushRepeat;
}

/** A planned repetition of a notice to the devices that are still behind. */
export interface PushRepeat {
  readonly chain: string;
  readonly round: number;
  readonly dueMs: number;
}

export function readPushNotice(text: string): PushNotice {
  return parseJson(text) as PushNotice;
}

/**
 * `send`: this server sends the notice. `sent`: another server has sent one that covers all changes. `wait`: another server
 * has just sent one, and there are newer changes.
 */
export type PushNoticeDecision = 'send' | 'sent' | 'wait';

/**
 * Decides whether this server sends a push notice to a user of a source, or to all users when `user` is null. Every server
 * collects the changes it has committed, and all are due at about the same time. The store holds the last notice, so only
 * one server sends it, and at most once in `everyMs`. Clocks that differ change only the rate.
 */
export function claimPushNotice(
  ports: NoticePorts,
  recipients: PartitionKey,
  everyMs: number,
): Promise<PushNoticeDecision> {
  const { store, clock } = ports;
  const ref = refs.noticed(recipients);
  return retryOnConflict(async () => {
    const entry = await store.readEntry(ref);
    // Read after the last notice: a notice that another server sends meanwhile makes the write fail.
    const now = { ...(await stateOf(ports, recipients)), atMs: clock.nowMs() };
    const last = entry === null ? null : readPushNotice(entry.value);
    if (last !== null && holds(last, now)) return 'sent';
    if (last !== null && elapsedMs(last.atMs, now.atMs) < everyMs) return 'wait';
    // A planned repetition stays; an undefined one is not written.
    const write = { ...ref, value: JSON.stringify({ ...now, repeat: last?.repeat }), expect: entry?.version ?? 0 };
    // A deletion of the source must see the new entry.
    const news = entry === null ? [ownerTouched('source', recipients.source)] : [];
    const result = await store.writeEntries({ writes: [write, ...news], guards: guardsOf(recipients) });
    // The source or the user was deleted, so there is nobody to notify.
    if (result.status === 'gone') return 'sent';
    return result.status === 'written' ? 'send' : null;
  });
}

/**
 * Returns the state of the partition that holds the user's data, which other users may share. Of a source of groups, all
 * groups of the user count: heads only grow while the groups and their epochs are the same.
 */
async function stateOf({ store, sources }: NoticePorts, recipients: PartitionKey): Promise<Omit<PushNotice, 'atMs'>> {
  const { source, owner } = recipients;
  const partitions =
    owner.kind === 'user'
      ? await sources.memberships.knownPartitionsOf(await sources.view(source), owner.login)
      : [recipients];
  const states = await Promise.all(partitions.map((partition) => store.partition(partition)));
  const [only] = partitions;
  if (only !== undefined && partitions.length === 1) {
    return { owner: ownerText(only.owner), epoch: states[0]?.epoch ?? '', head: states[0]?.head ?? 0 };
  }
  const identity = partitions.map((partition, index) => [ownerText(partition.owner), states[index]?.epoch]);
  const head = states.reduce((sum, state) => sum + state.head, 0);
  return { owner: null, epoch: String(textChecksum(JSON.stringify(identity))), head };
}

/** Returns true when the notice of `last` covers the state `now`: same partition, same epoch, and no later head. */
function holds(last: PushNotice, now: PushNotice): boolean {
  return last.owner === now.owner && last.epoch === now.epoch && last.head >= now.head;
}

function guardsOf({ source, owner }: PartitionKey): readonly Guard[] {
  return owner.kind === 'user' ? [refs.source(source), refs.generation(owner.login)] : [refs.source(source)];
}
