import {
  type JournalSlice,
  joinedSlice,
  type PartitionKey,
  type PartitionState,
  readToken,
  type SeenState,
  type Store,
  tokenText,
} from '@tidemark/core';
import { type Page, Refusal } from '@tidemark/protocol';
import { memorySubject } from './engines.ts';
import { isOfDocument } from './narrow-slices.ts';
import { SHARED_SOURCE, USERS } from './place.ts';
import type { Write } from './step.ts';
import type { MakeSubject, PullRequest, Subject } from './subject.ts';
import type { Rule } from './violation.ts';

/** A server with one thing wrong in it. A simulation that does not notice is not worth running. */
export interface PlantedBug {
  readonly name: string;
  /** The rule it must be seen to break; some histories may show it in another way. */
  readonly breaks: Rule;
  readonly makeSubject: MakeSubject;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  // Bugs of an engine
  inStore('a tombstone is lost where a page is cut', 'SIM-3', (store) =>
    readingJournal(store, (slice) =>
      slice.upTo < slice.state.head ? { ...slice, tombstones: slice.tombstones.slice(0, -1) } : slice,
    ),
  ),
  inStore('tombstones made while a device starts over are skipped', 'SIM-3', (store) =>
    alteredStore(store, {
      readJournal: (key, range) =>
        store.readJournal(key, range.tombstonesAfter > range.after ? { ...range, tombstonesAfter: 2 ** 50 } : range),
    }),
  ),
  inStore('the floor is ignored', 'SIM-3', (store) => withState(store, (state) => ({ ...state, floor: 0 }))),
  inStore('a patch is sent though marks of removal it needs are forgotten', 'SIM-4', (store) =>
    alteredStore(store, {
      partition: async (key) => ({ ...(await store.partition(key)), floor: 0 }),
      readJournal: async (key, range) => {
        const slice = await store.readJournal(key, range);
        const isGood = range.after >= slice.state.floor;
        return isGood ? { ...slice, state: { ...slice.state, floor: 0 } } : slice;
      },
    }),
  ),
  inStore('a document is read on though tombstones not met yet are forgotten', 'SIM-2', (store) =>
    altered(store, {
      readJournal: async (key, range) => {
        const slice = await store.readJournal(key, range);
        return isOfDocument(range) && range.after > 0 ? { ...slice, state: { ...slice.state, floor: 0 } } : slice;
      },
    }),
  ),
  inStore('a page begins one record too late', 'SIM-3', (store) =>
    alteredStore(store, { readJournal: (key, range) => store.readJournal(key, { ...range, after: range.after + 1 }) }),
  ),
  inStore('a page may be larger than asked for', 'SIM-6', (store) =>
    alteredStore(store, {
      readJournal: (key, range) => store.readJournal(key, { ...range, entriesMax: range.entriesMax + 1 }),
    }),
  ),
  inStore('the last object of a large push is lost after it was acknowledged', 'SIM-1', (store) =>
    altered(store, {
      commit: (commit) => {
        const { changes } = commit;
        return store.commit({ ...commit, changes: changes.length > 2 ? changes.slice(0, -1) : changes });
      },
    }),
  ),
  inStore('the checksum of an object that is changed again is not updated', 'SIM-1', (store) =>
    altered(store, {
      commit: (commit) => {
        const stale = (expect: number | undefined) => expect !== undefined && expect > 0;
        const changes = commit.changes.map((change) =>
          change.record !== null && stale(change.expect) ? { ...change, checksum: 1 } : change,
        );
        return store.commit({ ...commit, changes });
      },
    }),
  ),
  inStore('writers do not notice each other', 'SIM-2', (store) =>
    altered(store, {
      commit: ({ partition, changes, guards }) => {
        const blind = changes.map(({ id, record, checksum }) => ({ id, record, checksum }));
        return store.commit({ partition, changes: blind, guards });
      },
    }),
  ),
  inStore('names are joined with a colon', 'SIM-1', (store) => withKeys(store, joinedKey)),
  inStore('objects that a write leaves alone are not checked', 'SIM-2', (store) =>
    altered(store, { commit: ({ kept: _, ...commit }) => store.commit(commit) }),
  ),
  inStore('a write goes on in the next life of its user', 'SIM-1', (store) =>
    altered(store, {
      commit: ({ seen: _, guards, ...commit }) =>
        store.commit({ ...commit, guards: guards.map(({ kind, key }) => ({ kind, key })) }),
    }),
  ),
  inStore('a new life has the epoch of the old one', 'SIM-7', (store) =>
    withState(altered(store, { commit: ({ seen: _, ...commit }) => store.commit(commit) }), (state) => ({
      ...state,
      epoch: 'always',
    })),
  ),
  inStore('the data of a deleted user stays', 'SIM-1', (store) =>
    altered(store, {
      writeEntries: ({ writes, guards, erase }) =>
        store.writeEntries({ writes, guards, ...(erase?.users === undefined && erase !== undefined ? { erase } : {}) }),
    }),
  ),
  inStore('writes go through though the user is gone', 'SIM-1', (store) =>
    altered(store, { commit: (commit) => store.commit({ ...commit, guards: [] }) }),
  ),
  inStore('tombstones are trimmed though a device needs them', 'SIM-7', (store) =>
    altered(store, { listTidemarks: async () => [] }),
  ),

  // Bugs of the pages
  onPull('patches are made since the cursor instead of since the base', 'SIM-6', {
    asked: (pull) => ({ ...pull, token: rebased(pull.token, ({ seq }) => seq) }),
  }),
  onSubject('starting over goes on though tombstones made meanwhile are forgotten', 'SIM-3', (subject) => ({
    pull: async (pull) => {
      const user = pull.source === SHARED_SOURCE ? null : pull.user;
      const { floor } = await subject.state({ source: pull.source, user });
      return subject.pull({ ...pull, token: startedAt(pull.token, floor) });
    },
  })),
  onPull('patches are made since long before the base', 'SIM-8', {
    asked: (pull) => ({ ...pull, token: rebased(pull.token, ({ base }) => Math.floor(base / 2)) }),
  }),
  onPull('the removal of an attribute is not told', 'SIM-4', { page: ({ drop: _, ...page }) => page }),
  onPull('a page says it is the last one too early', 'SIM-3', {
    page: (page) => (page.more ? { ...page, more: false, checksum: 0 } : page),
  }),
  onPull('starting over is not told', 'SIM-7', { page: ({ reset: _, ...page }) => page }),
  onPull('every page starts over', 'SIM-7', { page: (page) => ({ ...page, reset: true }) }),
  onSubject('an unreadable token is taken for the one before it', 'SIM-7', (subject) => {
    const mended = tokenMender();
    return { pull: (pull) => subject.pull(mended(pull)) };
  }),
  onPull('one user gets the page of another', 'SIM-5', {
    asked: (pull) => (pull.objectsMax === 5 ? { ...pull, user: otherUser(pull.user) } : pull),
  }),
  onPull('an object is put and patched on one page', 'SIM-6', {
    page: (page) => (page.put === undefined ? page : { ...page, patch: { ...page.patch, ...page.put } }),
  }),
  onPull('a page is sent again with the old token', 'SIM-9', {
    page: (page, { token }) => (page.more && token !== null ? { ...page, token } : page),
  }),

  // Bugs of the writers
  onWrite('a refresh undoes a later push', 'SIM-1', async (subject, write) => {
    const isRefresh = write.kind === 'replace' && write.query !== null;
    if (!isRefresh) return subject.write(write);
    return subject.write({ ...write, query: { time: 0, since: await subject.beginQuery(write.place) } });
  }),
  onWrite('a refresh goes on in the next life of its user', 'SIM-1', async (subject, write) => {
    if (write.kind !== 'replace' || write.query === null) return subject.write(write);
    const { life } = (await subject.beginQuery(write.place)) as SeenState;
    const since = { ...(write.query.since as SeenState), life };
    return subject.write({ ...write, query: { ...write.query, since } });
  }),
  onWrite('a refresh forgets to delete', 'SIM-1', (subject, write) =>
    write.kind === 'replace'
      ? subject.write({ kind: 'push_objects', place: write.place, objects: write.objects })
      : subject.write(write),
  ),
  onWrite('a refused write is half applied', 'SIM-1', halfApplied),
  onWrite('a fast_update removes what it should compare', 'SIM-1', async (subject, write) => {
    if (write.kind !== 'fast_update') return subject.write(write);
    const stored = await subject.readObjects(write.place);
    const ids = Object.keys(write.deleteData);
    return subject.write({ ...write, deleteData: Object.fromEntries(ids.map((id) => [id, stored.get(id) ?? {}])) });
  }),
];

function inStore(name: string, breaks: Rule, plant: (store: Store) => Store): PlantedBug {
  return { name, breaks, makeSubject: memorySubject(plant) };
}

function onPull(
  name: string,
  breaks: Rule,
  plant: {
    readonly asked?: (pull: PullRequest) => PullRequest;
    readonly page?: (page: Page, pull: PullRequest) => Page;
  },
): PlantedBug {
  const { asked = (pull: PullRequest) => pull, page = (sent: Page) => sent } = plant;
  return onSubject(name, breaks, (subject) => ({
    pull: async (pull) => JSON.stringify(page(JSON.parse(await subject.pull(asked(pull))), pull)),
  }));
}

function onWrite(
  name: string,
  breaks: Rule,
  plant: (subject: Subject, write: Write) => ReturnType<Subject['write']>,
): PlantedBug {
  return onSubject(name, breaks, (subject) => ({ write: (write) => plant(subject, write) }));
}

function onSubject(name: string, breaks: Rule, plant: (subject: Subject) => Partial<Subject>): PlantedBug {
  const makeSubject: MakeSubject = async (surroundings) => {
    const subject = await memorySubject()(surroundings);
    return altered(subject, plant(subject));
  };
  return { name, breaks, makeSubject };
}

/** The same object with some members exchanged. */
function altered<T extends object>(target: T, changes: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(Object.hasOwn(changes, name) ? changes : target, name);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}

/** Whatever is wrong with a journal is wrong with it however it is read. */
function alteredStore(store: Store, changes: Partial<Store>): Store {
  const { readJournal } = changes;
  if (readJournal === undefined) return altered(store, changes);
  return altered(store, { ...changes, readJoined: async (key, range) => joinedSlice(await readJournal(key, range)) });
}

function readingJournal(store: Store, change: (slice: JournalSlice) => JournalSlice): Store {
  return alteredStore(store, { readJournal: async (key, range) => change(await store.readJournal(key, range)) });
}

/** A store that lies about the state of its partitions, consistently. */
function withState(store: Store, change: (state: PartitionState) => PartitionState): Store {
  return altered(
    readingJournal(store, (slice) => ({ ...slice, state: change(slice.state) })),
    {
      partition: async (key) => change(await store.partition(key)),
      readObjects: async (key, ids) => {
        const read = await store.readObjects(key, ids);
        return { ...read, state: change(read.state) };
      },
      commit: async (commit) => {
        const result = await store.commit(commit);
        return result.status === 'committed' ? { ...result, state: change(result.state) } : result;
      },
    },
  );
}

function withKeys(store: Store, change: (key: PartitionKey) => PartitionKey): Store {
  return alteredStore(store, {
    partition: (key) => store.partition(change(key)),
    readObjects: (key, ids) => store.readObjects(change(key), ids),
    readJournal: (key, range) => store.readJournal(change(key), range),
    commit: (commit) => store.commit({ ...commit, partition: change(commit.partition) }),
    trim: (key, upTo) => store.trim(change(key), upTo),
  });
}

/** `S` of `a:b` and `S:a` of `b` become one. */
function joinedKey({ source, user }: PartitionKey): PartitionKey {
  if (user === null) return { source, user };
  const [first = '', ...rest] = `${source}:${user}`.split(':');
  return { source: first, user: rest.join(':') };
}

/** The token with another base, if it has one at all. */
function rebased(text: string | null, base: (token: { seq: number; base: number }) => number): string | null {
  const token = text === null ? null : readToken(text);
  if (token === null || token.baseline.kind !== 'base') return text;
  const seq = base({ seq: token.seq, base: token.baseline.seq });
  return tokenText({ ...token, baseline: { kind: 'base', seq } }, token.restarts);
}

/** The token of a device that starts over, as if that had begun at the floor at the earliest. */
function startedAt(text: string | null, floor: number): string | null {
  const token = text === null ? null : readToken(text);
  if (token === null || token.baseline.kind !== 'start') return text;
  return tokenText({ ...token, baseline: { kind: 'start', seq: Math.max(floor, token.baseline.seq) } }, token.restarts);
}

/** Takes an unreadable token for the last readable one the same device presented. */
function tokenMender(): (pull: PullRequest) => PullRequest {
  const last = new Map<string, string>();
  return (pull) => {
    const device = JSON.stringify([pull.source, pull.user, pull.client]);
    if (pull.token === null) return pull;
    if (readToken(pull.token) === null) return { ...pull, token: last.get(device) ?? pull.token };
    last.set(device, pull.token);
    return pull;
  };
}

function otherUser(user: string): string {
  return USERS.find((other) => other !== user) ?? user;
}

async function halfApplied(subject: Subject, write: Write): ReturnType<Subject['write']> {
  try {
    return await subject.write(write);
  } catch (error) {
    if (!(error instanceof Refusal) || write.kind !== 'push_objects') throw error;
    for (const [id, attributes] of Object.entries(write.objects)) {
      await subject.write({ ...write, objects: { [id]: attributes } }).catch(() => undefined);
    }
    throw error;
  }
}
