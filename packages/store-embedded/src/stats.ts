import { mergedStats, type StatRow, type StatSums, type StatsStore } from '@tidemark/core/ports';
import { type EngineContext, yieldAfterRead } from './engine-context.ts';
import { behind, keyOf, readNumber, textsOf } from './keys.ts';
import type { Tables } from './tables.ts';

export function stats({ read, write }: EngineContext, trimStepMax: number): StatsStore {
  return {
    addStats: (rows) => write({ kind: 'stats', rows }),

    async readStats(metric, from, limit) {
      const rows = readStats(read(), metric, from, limit);
      await yieldAfterRead(rows.length);
      return rows;
    },

    statNames: async () => statNames(read()),

    trimStats: (beforeS) => write({ kind: 'trim_stats', beforeS, rowsMax: trimStepMax }),
  };
}

function readStats(tables: Tables, metric: string, from: 'oldest' | 'newest', limit: number): readonly StatRow[] {
  const prefix = keyOf(metric);
  const end = behind(prefix);
  const ends = end === undefined ? {} : { end };
  const rows: StatRow[] = [];
  const range =
    from === 'oldest'
      ? tables.stats.getRange({ start: prefix, ...ends, limit })
      : tables.stats.getRange({ ...(end === undefined ? {} : { start: end }), end: prefix, reverse: true, limit });
  for (const { key, value } of range)
    rows.push({ metric, atS: readNumber(key, prefix.length), ...(JSON.parse(value) as StatSums) });
  return from === 'oldest' ? rows : rows.reverse();
}

/** Seeks from metric to metric, so it does not read their rows. */
function statNames(tables: Tables): readonly string[] {
  const names: string[] = [];
  let start: Buffer | undefined = Buffer.alloc(0);
  while (start !== undefined) {
    const [key]: Buffer[] = [...tables.stats.getKeys({ start, limit: 1 })];
    if (key === undefined) return names;
    const name = metricOf(key);
    names.push(name);
    start = behind(keyOf(name));
  }
  return names;
}

function metricOf(key: Buffer): string {
  // The step after the name may look like text: the name is the first text of the key.
  return textsOf(key)[0] ?? '';
}

// Writing: these run in the writer's transaction

export function applyStats(tables: Tables, rows: readonly StatRow[]): void {
  for (const row of rows) {
    const key = keyOf(row.metric, row.atS);
    const text = tables.stats.get(key);
    const before: StatSums = text === undefined ? { count: 0, sum: 0, min: row.min, max: row.max } : JSON.parse(text);
    tables.stats.put(key, JSON.stringify(mergedStats(before, row)));
  }
}

export function applyStatsTrim(tables: Tables, beforeS: number, rowsMax: number): number {
  let trimmed = 0;
  for (const metric of statNames(tables)) {
    const start = keyOf(metric);
    const due = [...tables.stats.getKeys({ start, end: keyOf(metric, beforeS), limit: rowsMax - trimmed })];
    for (const key of due) tables.stats.remove(key);
    trimmed += due.length;
    if (trimmed >= rowsMax) break;
  }
  return trimmed;
}
