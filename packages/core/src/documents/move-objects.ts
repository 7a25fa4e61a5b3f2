import type { MoveWrite } from '../admission/admit-write.ts';
import type { Admitted } from '../admission/admitted.ts';
import { bytesMaxOf, type QuotaLimits, quotaExceeded } from '../admission/quota.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { type FileClaims, joinGuards, withoutLostClaims } from '../files/file-claims.ts';
import type { AttributeTexts } from '../journal/attribute-texts.ts';
import { type CommitRange, rangeOfCommit } from '../journal/committed.ts';
import type { ObjectChange, ObjectRecord } from '../journal/record.ts';
import type { Clock } from '../ports/clock.ts';
import type { Commit, ObjectsRead, PartitionKey, PartitionState, Store, UnchangedObject } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { changeOf, liveRecord } from './effect.ts';
import { replaced } from './verdicts.ts';

export interface MovePorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly quota: QuotaLimits;
  readonly files: FileClaims;
  /** Called after each commit, when it is durable. */
  readonly onCommitted: (partition: PartitionKey, range: CommitRange) => void;
}

export interface MoveOutcome {
  /** Objects that are in the target now, and not in the partition they came from. */
  readonly moved: number;
  /** Ids that were not in the partition. */
  readonly missing: number;
  /** The partition that the objects came from, after the move. */
  readonly from: PartitionState;
  /** The target, after the move. */
  readonly to: PartitionState;
}

/** An object that the move has put into the target. */
interface Copy {
  /** Where it is in the journal of the target, unless somebody has written it since. */
  readonly seq: number;
  /** What the target had under this id before; null: nothing. */
  readonly before: AttributeTexts | null;
}

/**
 * Moves objects between two partitions of a source. They are added to the target before they are removed, so that
 * whoever sees the removal finds the addition. If the server dies in between they are in both, and repeating the call
 * completes it. A removal expects the version that was copied: an object that changed meanwhile is copied again, and of
 * one that was deleted meanwhile the copy is taken back. Another move to the same target may have removed it instead, so
 * every move writes all its objects to the target, also those that are there already: what another move has written is not
 * taken back.
 */
export async function moveObjects(
  ports: MovePorts,
  { from, to, guards, ids }: Admitted<MoveWrite>,
): Promise<MoveOutcome> {
  const { store, files } = ports;
  const copies = new Map<string, Copy>();
  return retryOnConflict(
    async () => {
      const source = await store.readObjects(from, [...ids]);
      const live = liveObjects(source, ids);
      const read = await store.readObjects(to, [...new Set([...live.keys(), ...copies.keys()])]);
      const { changes, kept, before } = planTarget(read, live, copies);
      const claims = await files.claimMoved(from, to, changes);
      const target = { partition: to, changes, kept, guards: joinGuards(guards, claims), seen: read.state };
      const added = await commit(ports, target);
      if (added === null) return null;
      const { after } = rangeOfCommit(added, changes.length);
      for (const [index, { id }] of changes.entries()) {
        copies.set(id, { seq: after + index + 1, before: before.get(id) ?? null });
      }
      const removals = Array.from(live, ([id, { seq }]) => ({ id, record: null, checksum: 0, expect: seq }));
      const removed = await commit(ports, { partition: from, changes: removals, guards, seen: source.state });
      if (removed === null) return null;
      return { moved: live.size, missing: ids.size - live.size, from: removed, to: added };
    },
    { subject: 'the same objects' },
  );
}

/** Returns the state of the partition after the commit. Null: another writer was faster. */
async function commit(
  { store, clock, quota, onCommitted }: MovePorts,
  call: Omit<Commit, 'atMs'>,
): Promise<PartitionState | null> {
  const { partition, changes } = call;
  if (changes.length === 0) return store.partition(partition);
  const bytesMax = bytesMaxOf(quota, partition);
  const result = withoutLostClaims(await store.commit({ ...call, bytesMax, atMs: clock.nowMs() }));
  if (result.status === 'gone') throw refuseGone(result.guard);
  if (result.status === 'too_large') throw quotaExceeded(partition, bytesMax);
  if (result.status === 'conflict') return null;
  onCommitted(partition, rangeOfCommit(result.state, changes.length));
  return result.state;
}

type LiveObjects = ReadonlyMap<string, { readonly seq: number; readonly record: ObjectRecord }>;

function liveObjects({ objects }: ObjectsRead, ids: Iterable<string>): LiveObjects {
  const live = new Map<string, { readonly seq: number; readonly record: ObjectRecord }>();
  for (const id of ids) {
    const stored = objects.get(id);
    const record = liveRecord(stored);
    if (stored !== undefined && record !== null) live.set(id, { seq: stored.seq, record });
  }
  return live;
}

interface TargetPlan {
  readonly changes: readonly ObjectChange[];
  readonly kept: readonly UnchangedObject[];
  /** What the target had under the ids of the changes before the move. */
  readonly before: ReadonlyMap<string, AttributeTexts | null>;
}

/** Writes the live objects to the target, and takes back the copies of those that are not live any more. */
function planTarget({ state, objects }: ObjectsRead, live: LiveObjects, copies: ReadonlyMap<string, Copy>): TargetPlan {
  const changes: ObjectChange[] = [];
  const kept: UnchangedObject[] = [];
  const before = new Map<string, AttributeTexts | null>();
  for (const id of new Set([...live.keys(), ...copies.keys()])) {
    const stored = objects.get(id);
    const current = liveRecord(stored);
    const copy = copies.get(id);
    const isOwn = copy !== undefined && copy.seq === stored?.seq;
    const moved = live.get(id)?.record.attributes ?? null;
    const present = current?.attributes ?? null;
    before.set(id, isOwn ? copy.before : present);
    const verdict = isOwn ? replaced(present, moved ?? copy.before) : moved;
    const change = changeOf(id, { stored, current }, verdict, state.floor);
    if (change === null) kept.push({ id, expect: stored?.seq ?? 0 });
    else changes.push(change);
  }
  return { changes, kept, before };
}
