import { ownerText, type PartitionKey, readToken, type SeenState, type Store, userPartition } from '@tidemark/core';
import { type Page, Refusal } from '@tidemark/protocol';
import { replaced } from '../faults/replaced.ts';
import { readsDocument } from '../faults/small-slices.ts';
import type { ModelPartition } from '../model/partition.ts';
import type { Write } from '../model/write.ts';
import type { Rule } from '../runner/violation.ts';
import { memoryServer } from './engines.ts';
import { SHARED_SOURCE, USERS } from './partitions.ts';
import { checkingOnce, rememberingRegistrations } from './plant-registrations.ts';
import { readingJournal, replacedInStore, withKeys, withState } from './plant-store.ts';
import { readWhereItEnds, rebased, startedAt } from './plant-tokens.ts';
import type { MakeServer, PullRequest, ServerUnderTest, TogetherRequest } from './server-under-test.ts';

/** A server with one bug. It shows that the simulation would notice a bug of that kind. */
export interface PlantedBug {
  readonly name: string;
  /** The rule that the bug must break; some histories may show it in another way. */
  readonly breaks: Rule;
  readonly makeServer: MakeServer;
}

export const PLANTED_BUGS: readonly PlantedBug[] = [
  // Bugs in the engine
  inStore('a receipt counts a token presented before the last page', 'SIM-13', (store) =>
    replaced(store, {
      noteTidemark: (key, mark, ...rest) =>
        store.noteTidemark(key, mark.base === null ? mark : { ...mark, base: mark.seq }, ...rest),
    }),
  ),
  inStore('receipts and verdicts ignore the epoch of what a device has acknowledged', 'SIM-13', (store) =>
    replaced(store, {
      readTidemark: async (key, client) => {
        const mark = await store.readTidemark(key, client);
        return mark === null ? null : { ...mark, epoch: (await store.partition(key)).epoch };
      },
    }),
  ),
  inStore('a device that starts over keeps what it had acknowledged', 'SIM-13', (store) =>
    replaced(store, {
      noteTidemark: async (key, mark, ...rest) => {
        const before = await store.readTidemark(key, mark.client);
        const base = mark.base ?? before?.base ?? null;
        return store.noteTidemark(key, base === null ? mark : { ...mark, base, start: null }, ...rest);
      },
    }),
  ),
  inStore('what was recorded of a deleted device counts as recorded', 'SIM-13', (store) => {
    const recorded = new Map<string, string>();
    return replaced(store, {
      noteTidemark: async (key, mark, ...rest) => {
        const device = JSON.stringify([key, mark.client]);
        const text = JSON.stringify({ ...mark, seenAtMs: 0 });
        if (recorded.get(device) === text) return { status: 'written' };
        recorded.set(device, text);
        return store.noteTidemark(key, mark, ...rest);
      },
    });
  }),
  inStore('a tombstone is lost where a page is cut', 'SIM-3', (store) =>
    readingJournal(store, (slice) =>
      slice.upTo < slice.state.head ? { ...slice, tombstones: slice.tombstones.slice(0, -1) } : slice,
    ),
  ),
  inStore('tombstones made while a device starts over are skipped', 'SIM-3', (store) =>
    replacedInStore(store, {
      readJournal: (key, range) =>
        store.readJournal(key, range.tombstonesAfter > range.after ? { ...range, tombstonesAfter: 2 ** 50 } : range),
    }),
  ),
  inStore('the floor is ignored', 'SIM-3', (store) => withState(store, (state) => ({ ...state, floor: 0 }))),
  inStore('a patch is sent though marks of removal that it needs are trimmed', 'SIM-4', (store) =>
    replacedInStore(store, {
      partition: async (key) => ({ ...(await store.partition(key)), floor: 0 }),
      readJournal: async (key, range) => {
        const slice = await store.readJournal(key, range);
        const isGood = range.after >= slice.state.floor;
        return isGood ? { ...slice, state: { ...slice.state, floor: 0 } } : slice;
      },
    }),
  ),
  inStore('a document is read to its end though tombstones not read yet are trimmed', 'SIM-2', (store) =>
    replaced(store, {
      readJournal: async (key, range) => {
        const slice = await store.readJournal(key, range);
        return readsDocument(range) && range.after > 0 ? { ...slice, state: { ...slice.state, floor: 0 } } : slice;
      },
    }),
  ),
  inStore('a page begins one record too late', 'SIM-3', (store) =>
    replacedInStore(store, {
      readJournal: (key, range) => store.readJournal(key, { ...range, after: range.after + 1 }),
    }),
  ),
  inStore('a page may be larger than asked for', 'SIM-6', (store) =>
    replacedInStore(store, {
      readJournal: (key, range) => store.readJournal(key, { ...range, entriesMax: range.entriesMax + 1 }),
    }),
  ),
  inStore('one user gets the page of another', 'SIM-5', (store) =>
    replacedInStore(store, {
      readJournal: (key, range) => store.readJournal(range.entriesMax === 5 ? withOtherUser(key) : key, range),
    }),
  ),
  inStore('the last object of a large push is lost after it was acknowledged', 'SIM-1', (store) =>
    replaced(store, {
      commit: (commit) => {
        const { changes } = commit;
        return store.commit({ ...commit, changes: changes.length > 2 ? changes.slice(0, -1) : changes });
      },
    }),
  ),
  inStore('the checksum of an object that changes again is not updated', 'SIM-1', (store) =>
    replaced(store, {
      commit: (commit) => {
        const stale = (expect: number | undefined) => expect !== undefined && expect > 0;
        const changes = commit.changes.map((change) =>
          change.record !== null && stale(change.expect) ? { ...change, checksum: 1 } : change,
        );
        return store.commit({ ...commit, changes });
      },
    }),
  ),
  inStore('concurrent writers do not notice each other', 'SIM-2', (store) =>
    replaced(store, {
      commit: ({ partition, changes, guards }) => {
        const blind = changes.map(({ id, record, checksum }) => ({ id, record, checksum }));
        return store.commit({ partition, changes: blind, guards });
      },
    }),
  ),
  inStore('names are joined with a colon', 'SIM-1', (store) => withKeys(store, joinedKey)),
  inStore('objects that a write leaves alone are not checked', 'SIM-2', (store) =>
    replaced(store, { commit: ({ kept: _, ...commit }) => store.commit(commit) }),
  ),
  inStore('a write continues for the next user of the login', 'SIM-1', (store) =>
    replaced(store, {
      commit: ({ seen: _, guards, ...commit }) =>
        store.commit({ ...commit, guards: guards.map(({ kind, key }) => ({ kind, key })) }),
    }),
  ),
  inStore('a recreated partition has the epoch of the old one', 'SIM-7', (store) =>
    withState(replaced(store, { commit: ({ seen: _, ...commit }) => store.commit(commit) }), (state) => ({
      ...state,
      epoch: 'always',
    })),
  ),
  inStore('the data of a deleted user stays', 'SIM-1', (store) =>
    replaced(store, {
      writeEntries: ({ writes, guards, erase }) =>
        store.writeEntries({ writes, guards, ...(erase?.users === undefined && erase !== undefined ? { erase } : {}) }),
    }),
  ),
  inStore('a write succeeds though its user is deleted', 'SIM-1', (store) =>
    replaced(store, { commit: (commit) => store.commit({ ...commit, guards: [] }) }),
  ),
  inStore('tombstones are trimmed though a device needs them', 'SIM-7', (store) =>
    replaced(store, { listTidemarks: async () => [] }),
  ),

  // Bugs in pages
  onPull('patches are made since the cursor instead of since the base', 'SIM-6', {
    request: (pull) => ({ ...pull, token: rebased(pull.token, ({ seq }) => seq) }),
  }),
  onServer('starting over continues though tombstones made since are trimmed', 'SIM-3', (server) => ({
    pull: async (pull) => {
      const user = pull.source === SHARED_SOURCE ? null : pull.user;
      const { floor } = await server.status({ source: pull.source, user });
      return server.pull({ ...pull, token: startedAt(pull.token, floor) });
    },
  })),
  onPull('a catch-up continues though the state that it was read from is lost', 'SIM-7', {
    request: (pull) => ({ ...pull, token: readWhereItEnds(pull.token) }),
  }),
  onPull('patches are made since long before the base', 'SIM-8', {
    request: (pull) => ({ ...pull, token: rebased(pull.token, ({ base }) => Math.floor(base / 2)) }),
  }),
  onPull('the removal of an attribute is not sent', 'SIM-4', { page: ({ drop: _, ...page }) => page }),
  onPull('a page says it is the last one too early', 'SIM-3', {
    page: (page) => (page.more ? { ...page, more: false, checksum: 0 } : page),
  }),
  onPull('a page that starts over has no reset', 'SIM-7', { page: ({ reset: _, ...page }) => page }),
  onPull('every page has a reset', 'SIM-7', { page: (page) => ({ ...page, reset: true }) }),
  onServer('an unreadable token is replaced by the one before it', 'SIM-7', (server) => {
    const repaired = tokenRepairer();
    return { pull: (pull) => server.pull(repaired(pull)) };
  }),
  onPull('an object is put and patched on one page', 'SIM-6', {
    page: (page) => (page.put === undefined ? page : { ...page, patch: { ...page.patch, ...page.put } }),
  }),
  onPull('a page is sent again with the old token', 'SIM-9', {
    page: (page, { token }) => (page.more && token !== null ? { ...page, token } : page),
  }),

  // Bugs in what several sources of one call share
  onServer('every source of a call gets all of what an answer may hold', 'SIM-6', (server) => ({
    pullTogether: async ({ tokens, ...pull }) => {
      const pages = Array.from(tokens, async ([source, token]): Promise<[string, string]> => {
        return [source, await server.pull({ ...pull, source, token })];
      });
      return new Map(await Promise.all(pages));
    },
  })),
  onServer('a source of a call gets nothing while the one before it has more', 'SIM-9', (server) => ({
    pullTogether: async (pull) => withoutLater(pull, await server.pullTogether(pull)),
  })),

  // Bugs in the check of devices
  inStore('a deleted device stays registered', 'SIM-5', rememberingRegistrations),
  { name: 'a device is not checked after its data was read', breaks: 'SIM-5', makeServer: checkingOnce },

  // Bugs in writes
  onWrite('a refresh undoes a later push', 'SIM-1', async (server, write) => {
    const isRefresh = write.kind === 'replace' && write.query !== null;
    if (!isRefresh) return server.write(write);
    return server.write({ ...write, query: { time: 0, since: await server.beginQuery(write.partition) } });
  }),
  onWrite('a refresh continues for the next user of the login', 'SIM-1', async (server, write) => {
    if (write.kind !== 'replace' || write.query === null) return server.write(write);
    const { generation } = (await server.beginQuery(write.partition)) as SeenState;
    const since = { ...(write.query.since as SeenState), generation };
    return server.write({ ...write, query: { ...write.query, since } });
  }),
  onWrite('a refresh forgets to delete', 'SIM-1', (server, write) =>
    write.kind === 'replace'
      ? server.write({ kind: 'push_objects', partition: write.partition, objects: write.objects })
      : server.write(write),
  ),
  onWrite('a refused write is half applied', 'SIM-1', halfApplied),
  onWrite('a fast_update removes attributes without comparing them', 'SIM-1', async (server, write) => {
    if (write.kind !== 'fast_update') return server.write(write);
    const stored = await server.readObjects(write.partition);
    const ids = Object.keys(write.deleteData);
    return server.write({ ...write, deleteData: Object.fromEntries(ids.map((id) => [id, stored.get(id) ?? {}])) });
  }),
];

function inStore(name: string, breaks: Rule, plant: (store: Store) => Store): PlantedBug {
  return { name, breaks, makeServer: memoryServer(plant) };
}

/** Returns the pages without the changes that come after a page that is not the last one of its source. */
function withoutLater({ tokens }: TogetherRequest, pages: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  let isOver = false;
  return new Map(
    Array.from(pages, ([source, text]) => {
      const { more, size } = JSON.parse(text) as Page;
      const token = tokens.get(source) ?? null;
      const isLeftOut = isOver && token !== null;
      isOver ||= more;
      return [source, isLeftOut ? JSON.stringify({ token, more: true, size }) : text];
    }),
  );
}

function onPull(
  name: string,
  breaks: Rule,
  plant: {
    readonly request?: (pull: PullRequest) => PullRequest;
    readonly page?: (page: Page, pull: PullRequest) => Page;
  },
): PlantedBug {
  const { request = (pull: PullRequest) => pull, page = (sent: Page) => sent } = plant;
  return onServer(name, breaks, (server) => ({
    pull: async (pull) => JSON.stringify(page(JSON.parse(await server.pull(request(pull))), pull)),
  }));
}

function onWrite(
  name: string,
  breaks: Rule,
  plant: (server: ServerUnderTest, write: Write) => ReturnType<ServerUnderTest['write']>,
): PlantedBug {
  return onServer(name, breaks, (server) => ({ write: (write) => plant(server, write) }));
}

function onServer(
  name: string,
  breaks: Rule,
  plant: (server: ServerUnderTest) => Partial<ServerUnderTest>,
): PlantedBug {
  const makeServer: MakeServer = async (options) => {
    const server = await memoryServer()(options);
    return replaced(server, plant(server));
  };
  return { name, breaks, makeServer };
}

/** Makes one partition of `S` of `a:b` and `S:a` of `b`. */
function joinedKey({ source, user }: ModelPartition): ModelPartition {
  if (user === null) return { source, user };
  const [first = '', ...rest] = `${source}:${user}`.split(':');
  return { source: first, user: rest.join(':') };
}

/** Replaces an unreadable token by the last readable one of the same device. */
function tokenRepairer(): (pull: PullRequest) => PullRequest {
  const last = new Map<string, string>();
  return (pull) => {
    const device = JSON.stringify([pull.source, pull.user, pull.client]);
    if (pull.token === null) return pull;
    if (readToken(pull.token) === null) return { ...pull, token: last.get(device) ?? pull.token };
    last.set(device, pull.token);
    return pull;
  };
}

function withOtherUser(key: PartitionKey): PartitionKey {
  const user = ownerText(key.owner);
  const other = USERS.find((login) => login !== user);
  return user === null || other === undefined ? key : userPartition(key.source, other);
}

async function halfApplied(server: ServerUnderTest, write: Write): ReturnType<ServerUnderTest['write']> {
  try {
    return await server.write(write);
  } catch (error) {
    if (!(error instanceof Refusal) || write.kind !== 'push_objects') throw error;
    for (const [id, attributes] of Object.entries(write.objects)) {
      await server.write({ ...write, objects: { [id]: attributes } }).catch(() => undefined);
    }
    throw error;
  }
}
