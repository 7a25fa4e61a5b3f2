import {
  type Adapter,
  AdapterRefusal,
  type DevicePull,
  type Jobs,
  type Note,
  type Store,
  type Tidemark,
} from '@tidemark/core';
import { replaced } from '../faults/replaced.ts';
import { keyOf } from '../model/partition.ts';
import type { UploadRule } from '../runner/violation.ts';

/** Where a bug can be planted. */
export interface Plant {
  readonly store?: (store: Store) => Store;
  /** `store` is the one without the bug. */
  readonly jobs?: (jobs: Jobs, store: Store) => Jobs;
  /** `tidemark` runs on the store without the bug. */
  readonly adapter?: (adapter: Adapter, tidemark: Tidemark) => Adapter;
  readonly pull?: (pull: () => Promise<DevicePull>) => Promise<DevicePull>;
}

/** A server with one bug. It shows that the simulation would notice a bug of that kind. */
export interface PlantedBug extends Plant {
  readonly name: string;
  /** The rule that the bug must break; some histories may show it in another way. */
  readonly breaks: UploadRule;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    name: 'an update under the new id overtakes a queued one under the temporary id',
    breaks: 'UPSIM-2',
    store: (store) =>
      replaced(store, { listNotes: async (...list) => (await store.listNotes(...list)).map(withoutOrigin) }),
  },
  {
    name: 'an update overtakes a queued one of the same object',
    breaks: 'UPSIM-2',
    store: (store) =>
      replaced(store, {
        listNotes: async (...list) =>
          (await store.listNotes(...list)).filter(({ text }) => statusIn(text) !== 'queued'),
      }),
  },
  {
    name: 'a create is rejected because its own object exists',
    breaks: 'UPSIM-1',
    adapter: (adapter, tidemark) => ({
      ...methodsOf(adapter),
      create: async (call) => {
        const isShared = call.source === 'Shared';
        const { objects } = await tidemark.store.readObjects(
          keyOf({ source: call.source, user: isShared ? null : call.user }),
          [call.id],
        );
        if ((objects.get(call.id)?.record ?? null) !== null) throw new AdapterRefusal('rejected', 'it exists');
        return adapter.create(call);
      },
    }),
  },
  {
    name: 'a rejected create blocks its id although an object exists',
    breaks: 'UPSIM-4',
    store: blockingIds,
  },
  {
    name: 'a job runs for the next user of the login',
    breaks: 'UPSIM-3',
    store: keepingUploads,
    jobs: withCurrentRegistration,
  },
  {
    name: 'a push in progress is finished for the next user of the login',
    breaks: 'UPSIM-3',
    store: (store) =>
      replaced(store, {
        commit: ({ guards, ...commit }) =>
          store.commit({ ...commit, guards: guards.map(({ kind, key }) => ({ kind, key })) }),
      }),
  },
  {
    name: 'a pull in progress is answered with the data of the next user of the login',
    breaks: 'UPSIM-3',
    pull: (pull) => pull().catch(() => pull()),
  },
  {
    name: 'a queued upload waits for a later create of the same id',
    breaks: 'UPSIM-1',
    store: (store) =>
      replaced(store, { readNotes: async (...asked) => (await store.readNotes(...asked)).map(pendingElsewhere) }),
  },
  {
    name: 'what the backend accepted is reported and not committed',
    breaks: 'UPSIM-5',
    store: (store) =>
      replaced(store, {
        commit: (commit) => store.commit(commit.notes === undefined ? commit : { ...commit, changes: [] }),
      }),
  },
];

function methodsOf({ query, create, update, delete: remove }: Adapter): Adapter {
  return { query, create, update, delete: remove };
}

function statusIn(text: string): unknown {
  return (JSON.parse(text) as { readonly status?: unknown }).status;
}

function withoutOrigin(note: Note): Note {
  const { origin: _, ...rest } = JSON.parse(note.text) as Record<string, unknown>;
  return note.kind === 'outcome' ? { ...note, text: JSON.stringify(rest) } : note;
}

function pendingElsewhere(note: Note): Note {
  if (note.kind !== 'link') return note;
  const link = JSON.parse(note.text) as Record<string, unknown>;
  return link.state === 'pending' ? { ...note, text: JSON.stringify({ ...link, queue: 'elsewhere' }) } : note;
}

/** Returns a store that hides the objects under the ids of rejected creates. */
function blockingIds(store: Store): Store {
  let rejected: readonly string[] = [];
  return replaced(store, {
    readNotes: async (...asked) => {
      const notes = await store.readNotes(...asked);
      const links = notes.filter(({ kind, text }) => kind === 'link' && text.includes('rejected'));
      if (links.length > 0) rejected = links.map(({ key }) => key);
      return notes;
    },
    readObjects: async (key, ids) => {
      const read = await store.readObjects(key, ids);
      const isAboutLinks = ids.length === rejected.length && ids.every((id) => rejected.includes(id));
      rejected = isAboutLinks ? [] : rejected;
      return isAboutLinks ? { ...read, objects: new Map() } : read;
    },
  });
}

/** Returns a store that keeps the uploads of deleted devices. */
function keepingUploads(store: Store): Store {
  const kept = new Map<string, Note>();
  return replaced(store, {
    commit: (commit) => {
      for (const { kind, key, text } of commit.notes?.writes ?? []) {
        if (kind === 'upload' && text !== null) kept.set(key, { kind, key, text });
      }
      return store.commit(commit);
    },
    readNotes: async (partition, client, refs) => {
      const notes = await store.readNotes(partition, client, refs);
      const isThere = (key: string) => notes.some((note) => note.kind === 'upload' && note.key === key);
      const gone = refs.filter(({ kind, key }) => kind === 'upload' && !isThere(key));
      return [...notes, ...gone.flatMap(({ key }) => kept.get(key) ?? [])];
    },
  });
}

/** Returns jobs that carry the registration of the device that has the id now. */
function withCurrentRegistration(jobs: Jobs, store: Store): Jobs {
  return replaced(jobs, {
    leaseMany: async (...asked) => {
      const leased = await jobs.leaseMany(...asked);
      return Promise.all(
        leased.map(async (job) => {
          const payload = JSON.parse(job.payload) as { readonly client: string };
          const client = await store.readEntry({ kind: 'client', key: [payload.client] });
          const user = client === null ? '' : (JSON.parse(client.value) as { readonly user: string }).user;
          const entry = await store.readEntry({ kind: 'user_client', key: [user, payload.client] });
          return { ...job, payload: JSON.stringify({ ...payload, registration: entry?.version ?? 0 }) };
        }),
      );
    },
  });
}
