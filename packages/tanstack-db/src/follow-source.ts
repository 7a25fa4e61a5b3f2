import type { ChangeMessageOrDeleteKeyMessage, SyncConfig } from '@tanstack/db';
import type { Device, Source, SyncedObject } from '@tidemark/client';

/** An object as a row of a collection: its attributes and its id. An attribute named `id` is hidden by the id. */
export type SourceRow<A extends object> = Omit<A, 'id'> & { id: string };

type Change<A extends object> = ChangeMessageOrDeleteKeyMessage<SourceRow<A>, string>;

/** Keeps a collection equal to what the device shows of a source. */
export function followSource<A extends object>(
  device: Device,
  source: Source<A>,
): SyncConfig<SourceRow<A>, string>['sync'] {
  return ({ begin, write, commit, markReady }) => {
    const all = source.query();
    let shown: readonly SyncedObject<A>[] = [];
    /** A promise while TanStack DB holds rows back, because a mutation is being stored. */
    let applied: true | Promise<void> = true;
    const follow = () => {
      const changes = differences(shown, all.list());
      shown = all.list();
      if (changes.length === 0) return;
      begin();
      for (const change of changes) write(change);
      applied = commit();
    };
    const ready = () => {
      if (applied === true) markReady();
      else applied.then(markReady, markReady);
    };
    const stopFollowing = all.subscribe(follow);
    follow();
    const stopWaiting = afterFirstSync(device, () => {
      // A collection that is ready shows all rows. Those of a source on the disk are read first.
      if (all.isLoading) all.fetch().then(ready, ready);
      else ready();
    });
    return () => {
      stopFollowing();
      stopWaiting();
    };
  };
}

/**
 * Returns what turns one list into the other. Both are sorted by id, and an object that did not change is the same value
 * in both, so an edit costs one comparison of references per object.
 */
function differences<A extends object>(
  before: readonly SyncedObject<A>[],
  after: readonly SyncedObject<A>[],
): Change<A>[] {
  const changes: Change<A>[] = [];
  let index = 0;
  for (const fresh of after) {
    let old = before[index];
    for (; old !== undefined && old.id < fresh.id; old = before[++index]) changes.push({ type: 'delete', key: old.id });
    if (old?.id !== fresh.id) changes.push({ type: 'insert', value: rowOf(fresh) });
    else if (old !== fresh) changes.push({ type: 'update', value: rowOf(fresh) });
    if (old?.id === fresh.id) index++;
  }
  for (const { id } of before.slice(index)) changes.push({ type: 'delete', key: id });
  return changes;
}

function rowOf<A extends object>({ id, attributes }: SyncedObject<A>): SourceRow<A> {
  return { ...attributes, id };
}

/** Calls back when stored objects are loaded and the first sync of the device is over, or cannot go on without somebody's doing. */
function afterFirstSync(device: Device, callback: () => void): () => void {
  if (!isWaiting(device)) {
    callback();
    return () => undefined;
  }
  const stop = device.status.subscribe(() => {
    if (isWaiting(device)) return;
    stop();
    callback();
  });
  return stop;
}

function isWaiting(device: Device): boolean {
  const { lastSyncedAtMs, userId, isOnline, error, isLoading } = device.status.getSnapshot();
  const isFirstSync = lastSyncedAtMs === null && userId !== null && isOnline;
  return (isFirstSync || isLoading) && error === null;
}
