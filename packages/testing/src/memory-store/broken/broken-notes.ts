import type { DeviceTidemark, StatRow } from '@tidemark/core';
import type { BrokenStore } from './broken-store.ts';

export const brokenNotes: readonly BrokenStore[] = [
  {
    flaw: 'ignores the guards of a tidemark',
    caughtBy: 'STORE-19',
    breaks: (store) => ({ noteTidemark: (key, mark, _guards, expect) => store.noteTidemark(key, mark, [], expect) }),
  },
  {
    flaw: 'replaces a tidemark whatever is expected',
    caughtBy: 'STORE-83',
    breaks: (store) => ({ noteTidemark: (key, mark, guards) => store.noteTidemark(key, mark, guards) }),
  },
  {
    flaw: 'keeps the highest tidemark instead of the last',
    caughtBy: 'STORE-49',
    breaks: (store) => ({
      noteTidemark: async (key, mark, guards, expect) => {
        const old = await store.readTidemark(key, mark.client);
        return store.noteTidemark(key, old !== null && old.seq > mark.seq ? old : mark, guards, expect);
      },
    }),
  },
  {
    flaw: 'lists tidemarks from the beginning every time',
    caughtBy: 'STORE-50',
    breaks: (store) => ({ listTidemarks: (key, { limit }) => store.listTidemarks(key, { limit }) }),
  },
  {
    flaw: 'lists all tidemarks whatever the limit',
    caughtBy: 'STORE-50',
    breaks: (store) => ({ listTidemarks: (key, list) => store.listTidemarks(key, { ...list, limit: 1_000 }) }),
  },
  {
    flaw: 'keeps tidemarks for partitions without any write',
    caughtBy: 'STORE-51',
    breaks: () => {
      const marks = new Map<string, DeviceTidemark>();
      return {
        noteTidemark: async (_key, mark) => {
          marks.set(mark.client, mark);
          return { status: 'written' };
        },
        readTidemark: async (_key, client) => marks.get(client) ?? null,
        listTidemarks: async () => [...marks.values()],
      };
    },
  },
  {
    flaw: 'counts a tidemark by its seq instead of its base',
    caughtBy: 'STORE-76',
    breaks: (store) => ({
      countAcknowledged: async (key, { epoch, below }) => {
        const marks = (await store.listTidemarks(key, { limit: 1_000 })).filter((mark) => mark.epoch === epoch);
        return { devices: marks.length, below: marks.filter(({ seq }) => seq < below).length };
      },
    }),
  },
  {
    flaw: 'counts tidemarks of every epoch',
    caughtBy: 'STORE-76',
    breaks: (store) => ({
      countAcknowledged: async (key, { below }) => {
        const marks = await store.listTidemarks(key, { limit: 1_000 });
        return { devices: marks.length, below: marks.filter(({ base }) => (base ?? 0) < below).length };
      },
    }),
  },
  {
    flaw: 'lists acknowledgements by client',
    caughtBy: 'STORE-77',
    breaks: (store) => ({
      listAcknowledged: async (key, list) =>
        [...(await store.listAcknowledged(key, list))].sort((left, right) => (left.client < right.client ? -1 : 1)),
    }),
  },
  {
    flaw: 'keeps the tidemarks of erased devices in the index',
    caughtBy: 'STORE-78',
    breaks: (store) => {
      let erased = 0;
      return {
        writeEntries: (batch) => {
          erased += batch.erase?.clients?.length ?? 0;
          return store.writeEntries(batch);
        },
        countAcknowledged: async (key, range) => {
          const { devices, below } = await store.countAcknowledged(key, range);
          return { devices: devices + erased, below };
        },
      };
    },
  },
  {
    flaw: 'writes notes in a step of their own',
    caughtBy: 'STORE-68',
    breaks: (store) => ({
      commit: async ({ notes, ...commit }) => {
        if (notes !== undefined) await store.commit({ ...commit, changes: [], kept: [], notes, guards: [] });
        return store.commit(commit);
      },
    }),
  },
  {
    flaw: 'ignores expectations of notes',
    caughtBy: 'STORE-69',
    breaks: (store) => ({
      commit: ({ notes, ...commit }) => {
        if (notes === undefined) return store.commit(commit);
        const writes = notes.writes.map(({ expect: _expect, ...write }) => write);
        return store.commit({ ...commit, notes: { ...notes, writes } });
      },
    }),
  },
  {
    flaw: 'mixes up the notes of devices',
    caughtBy: 'STORE-70',
    breaks: (store) => ({
      commit: ({ notes, ...commit }) =>
        store.commit(notes === undefined ? commit : { ...commit, notes: { ...notes, client: 'one for all' } }),
      readNotes: (key, _client, refs) => store.readNotes(key, 'one for all', refs),
      listNotes: (key, _client, list) => store.listNotes(key, 'one for all', list),
    }),
  },
  {
    flaw: 'lists notes from the beginning every time',
    caughtBy: 'STORE-71',
    breaks: (store) => ({ listNotes: (key, client, { kind, limit }) => store.listNotes(key, client, { kind, limit }) }),
  },
  {
    flaw: 'never removes expired notes',
    caughtBy: 'STORE-72',
    breaks: (store) => ({
      commit: ({ notes, ...commit }) =>
        store.commit(notes === undefined ? commit : { ...commit, notes: { ...notes, nowMs: 0 } }),
    }),
  },
  {
    flaw: 'keeps the notes of an erased device',
    caughtBy: 'STORE-73',
    breaks: (store) => {
      const hidden = (client: string) => `hidden ${client}`;
      return {
        commit: ({ notes, ...commit }) =>
          store.commit(notes === undefined ? commit : { ...commit, notes: { ...notes, client: hidden(notes.client) } }),
        readNotes: (key, client, refs) => store.readNotes(key, hidden(client), refs),
        listNotes: (key, client, list) => store.listNotes(key, hidden(client), list),
      };
    },
  },
  {
    flaw: 'lets the last row of a step win',
    caughtBy: 'STORE-53',
    breaks: (store) => ({
      addStats: (rows) => {
        const last = new Map(rows.map((row) => [JSON.stringify([row.metric, row.atS]), row]));
        return store.addStats([...last.values()]);
      },
    }),
  },
  {
    flaw: 'starts minimum and maximum at zero',
    caughtBy: 'STORE-53',
    breaks: (store) => ({
      readStats: async (metric, from, limit) => {
        const widened = (row: StatRow) => ({ ...row, min: Math.min(0, row.min), max: Math.max(0, row.max) });
        return (await store.readStats(metric, from, limit)).map(widened);
      },
    }),
  },
  {
    flaw: 'returns the newest rows newest first',
    caughtBy: 'STORE-54',
    breaks: (store) => ({
      readStats: async (metric, from, limit) => {
        const rows = [...(await store.readStats(metric, from, limit))];
        return from === 'newest' ? rows.reverse() : rows;
      },
    }),
  },
  {
    flaw: 'counts rows from the wrong end',
    caughtBy: 'STORE-54',
    breaks: (store) => ({ readStats: (metric, _from, limit) => store.readStats(metric, 'oldest', limit) }),
  },
  {
    flaw: 'sorts metrics by UTF-16 units',
    caughtBy: 'STORE-55',
    breaks: (store) => ({ statNames: async () => [...(await store.statNames())].sort() }),
  },
  {
    flaw: 'also trims the rows of the given time',
    caughtBy: 'STORE-56',
    breaks: (store) => ({ trimStats: (beforeS) => store.trimStats(beforeS + 1) }),
  },
  {
    flaw: 'trims all old rows in one call',
    caughtBy: 'STORE-56',
    breaks: (store) => ({
      trimStats: async (beforeS) => {
        let gone = 0;
        for (let more = -1; more !== 0; gone += more) more = await store.trimStats(beforeS);
        return gone;
      },
    }),
  },
];
