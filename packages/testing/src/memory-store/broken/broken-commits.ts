import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Change, Commit, PartitionKey, PartitionState, Store } from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

export const brokenCommits: readonly BrokenStore[] = [
  {
    flaw: 'tells only the last partition that changed after a mark',
    caughtBy: 'STORE-79',
    breaks: (store) => ({
      changedSince: async (query) => {
        const read = await store.changedSince(query);
        return read === null ? null : { ...read, changed: read.changed?.slice(-1) ?? null };
      },
    }),
  },
  {
    flaw: 'lets a partition grow beyond its bound',
    caughtBy: 'STORE-75',
    breaks: (store) => ({
      commit: ({ bytesMax: _bytesMax, ...commit }) => store.commit(commit),
    }),
  },
  {
    flaw: 'does not bound the notes of a commit',
    caughtBy: 'STORE-82',
    breaks: (store) => ({
      commit: ({ bytesMax, ...commit }) => {
        const isBounded = bytesMax !== undefined && commit.notes === undefined;
        return store.commit({ ...commit, ...(isBounded ? { bytesMax } : {}) });
      },
    }),
  },
  {
    flaw: 'ignores objects that a commit read but does not change',
    caughtBy: 'STORE-65',
    breaks: (store) => ({
      commit: ({ kept: _kept, ...commit }) => store.commit(commit),
    }),
  },
  {
    flaw: 'ignores the versions of guards',
    caughtBy: 'STORE-67',
    breaks: (store) => ({
      commit: (commit) => store.commit({ ...commit, guards: commit.guards.map(({ kind, key }) => ({ kind, key })) }),
    }),
  },
  {
    flaw: 'accepts expectations from before a reset',
    caughtBy: 'STORE-66',
    breaks: (store) => ({
      commit: ({ seen: _seen, ...commit }) => store.commit(commit),
    }),
  },
  {
    flaw: 'checks expectations in one step and applies in another',
    caughtBy: 'STORE-3',
    breaks: (store) => ({
      commit: async (commit) => {
        if (await conflicts(store, commit)) return { status: 'conflict' };
        await nextTurn();
        return store.commit({ ...commit, changes: commit.changes.map(withoutExpectation) });
      },
    }),
  },
  {
    flaw: 'accepts the same id twice and keeps the last',
    caughtBy: 'STORE-6',
    breaks: (store) => ({
      commit: (commit) => {
        const changes = [...new Map(commit.changes.map((change) => [change.id, change])).values()];
        return store.commit({ ...commit, changes });
      },
    }),
  },
  {
    flaw: 'applies the changes before the one that conflicts',
    caughtBy: 'STORE-7',
    breaks: (store) => ({
      commit: async (commit) => {
        for (const change of commit.changes.slice(0, -1)) {
          const { status } = await store.commit({ ...commit, changes: [change] });
          if (status === 'conflict') return { status };
        }
        return store.commit({ ...commit, changes: commit.changes.slice(-1) });
      },
    }),
  },
  {
    flaw: 'gives a partition the epoch of the store',
    caughtBy: 'STORE-10',
    breaks: (store) => ({
      commit: async (commit) => {
        const result = await store.commit(commit);
        if (result.status !== 'committed') return result;
        return { ...result, state: { ...result.state, epoch: await store.epoch() } };
      },
      partition: async (key) => ({ ...(await store.partition(key)), epoch: await store.epoch() }),
    }),
  },
  {
    flaw: 'assigns seqs in the order of ids',
    caughtBy: 'STORE-11',
    breaks: (store) => ({
      commit: (commit) => {
        const changes = [...commit.changes].sort((left, right) => (left.id < right.id ? -1 : 1));
        return store.commit({ ...commit, changes });
      },
    }),
  },
  {
    flaw: 'assigns a seq to the deletion of a missing object',
    caughtBy: 'STORE-14',
    breaks: (store) => ({
      commit: async (commit) => {
        for (const { id, record } of commit.changes) {
          const live = (await store.readObjects(commit.partition, [id])).objects.get(id)?.record ?? null;
          if (record === null && live === null) await put(store, commit.partition, id);
        }
        return store.commit(commit);
      },
    }),
  },
  {
    flaw: 'does not subtract the checksum of what was replaced or deleted',
    caughtBy: 'STORE-15',
    breaks: (store) => {
      let neverSubtracted = 0;
      return {
        commit: async (commit) => {
          const before = await store.partition(commit.partition);
          const result = await store.commit(commit);
          if (result.status !== 'committed') return result;
          const given = commit.changes.reduce((sum, { checksum }) => (sum + checksum) % 2 ** 52, before.checksum);
          neverSubtracted += (given - result.state.checksum + 2 ** 52) % 2 ** 52;
          return result;
        },
        partition: async (key) => changeState(await store.partition(key), 'checksum', neverSubtracted),
      };
    },
  },
  {
    flaw: 'counts an object again when it is replaced',
    caughtBy: 'STORE-15',
    breaks: (store) => ({
      partition: async (key) => {
        const state = await store.partition(key);
        return changeState(state, 'size', state.head - state.size);
      },
    }),
  },
  {
    flaw: 'counts tombstones when only the size is asked for',
    caughtBy: 'STORE-15',
    breaks: (store) => ({ size: async (key) => (await store.partition(key)).head }),
  },
  {
    flaw: 'moves the head when there is nothing to change',
    caughtBy: 'STORE-16',
    breaks: (store) => ({
      commit: async (commit) => {
        if (commit.changes.length === 0) await put(store, commit.partition, 'nothing');
        return store.commit(commit);
      },
    }),
  },
  {
    flaw: 'ignores expectations of tombstones',
    caughtBy: 'STORE-17',
    breaks: (store) => ({
      commit: async (commit) => {
        const { objects } = await store.readObjects(
          commit.partition,
          commit.changes.map(({ id }) => id),
        );
        const changes = commit.changes.map((change) => {
          return objects.get(change.id)?.record === null ? withoutExpectation(change) : change;
        });
        return store.commit({ ...commit, changes });
      },
    }),
  },
  {
    flaw: 'ignores an expectation of 0',
    caughtBy: 'STORE-17',
    breaks: (store) => ({
      commit: (commit) => {
        const changes = commit.changes.map((change) => (change.expect === 0 ? withoutExpectation(change) : change));
        return store.commit({ ...commit, changes });
      },
    }),
  },
  {
    flaw: 'ignores the expected head',
    caughtBy: 'STORE-18',
    breaks: (store) => ({ commit: ({ partition, changes, guards }) => store.commit({ partition, changes, guards }) }),
  },
  {
    flaw: 'ignores the guards of a commit',
    caughtBy: 'STORE-19',
    breaks: (store) => ({ commit: (commit) => store.commit({ ...commit, guards: [] }) }),
  },
  {
    flaw: 'looks only at the first guard',
    caughtBy: 'STORE-19',
    breaks: (store) => ({ commit: (commit) => store.commit({ ...commit, guards: commit.guards.slice(0, 1) }) }),
  },
  {
    flaw: 'names the last missing guard',
    caughtBy: 'STORE-19',
    breaks: (store) => ({ commit: (commit) => store.commit({ ...commit, guards: [...commit.guards].reverse() }) }),
  },
  {
    flaw: 'deletes tidemarks at every commit',
    caughtBy: 'STORE-52',
    breaks: (store) => ({
      commit: async (commit) => {
        await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
        return store.commit(commit);
      },
    }),
  },
  {
    flaw: 'drops running commits when it is closed',
    caughtBy: 'STORE-62',
    breaks: (store) => ({
      commit: async (commit) => {
        await nextTurn();
        return store.commit(commit);
      },
    }),
  },
];

async function conflicts(store: Store, { partition, changes, expectHead }: Commit): Promise<boolean> {
  const { objects, state } = await store.readObjects(
    partition,
    changes.map(({ id }) => id),
  );
  if (expectHead !== undefined && expectHead !== state.head) return true;
  return changes.some(({ id, expect }) => expect !== undefined && expect !== (objects.get(id)?.seq ?? 0));
}

function withoutExpectation({ id, record, checksum }: Change): Change {
  return { id, record, checksum };
}

function put(store: Store, partition: PartitionKey, id: string) {
  return store.commit({ partition, changes: [{ id, record: 'record', checksum: 1 }], guards: [] });
}

function changeState(state: PartitionState, name: 'size' | 'checksum', by: number): PartitionState {
  return { ...state, [name]: (state[name] + by) % 2 ** 52 };
}
