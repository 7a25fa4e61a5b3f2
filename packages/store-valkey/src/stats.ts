import type { StatRow, StatsStore } from '@tidemark/core/ports';
import type { Keyspace } from './connection.ts';
import { DIGITS, digitsOf, inclusive, keyOf, membersFrom, textsOf } from './keys.ts';
import { addStatsScript, readStatsScript, statNamesScript, trimStatsScript } from './scripts/stats.ts';
import { listOf, numberOf, pairsOf, type Reply, textListOf, textOf } from './wire.ts';

/** Metrics that one call lists. */
const NAMES_PER_READ = 1_000;

/** Statistics. One call of `trimStats` deletes at most `trimStepMax` rows. */
export function stats(keyspace: Keyspace, trimStepMax: number): StatsStore {
  const { connection, layout } = keyspace;
  return {
    addStats: (rows) => addStats(keyspace, rows),

    async readStats(metric, from, limit) {
      const args = readStatsScript.args({ isOldestFirst: from === 'oldest', ...membersFrom(keyOf(metric)), limit });
      const rows = rowsFrom(listOf(await connection.run(readStatsScript, layout.stats, args)));
      return from === 'oldest' ? rows : rows.reverse();
    },

    async statNames() {
      const names: string[] = [];
      let after = '-';
      for (;;) {
        const args = statNamesScript.args({ limit: NAMES_PER_READ, after });
        const found = textListOf(await connection.run(statNamesScript, layout.stats, args));
        names.push(...found.map((field) => textsOf(field)[0] ?? ''));
        const last = names.at(-1);
        if (found.length < NAMES_PER_READ || last === undefined) return names;
        // The next range starts where the range of the last name ends, which is given as an exclusive end.
        after = inclusive(membersFrom(keyOf(last)).max.slice(1));
      }
    },

    async trimStats(beforeS) {
      const args = trimStatsScript.args({ beforeS: String(beforeS), limit: trimStepMax });
      return numberOf(await connection.write(trimStatsScript, layout.stats, args));
    },
  };
}

export async function addStats({ connection, layout }: Keyspace, rows: readonly StatRow[]): Promise<void> {
  const args = addStatsScript.args({
    rows: rows.map((row) => ({ ...row, field: keyOf(row.metric) + digitsOf(row.atS) })),
  });
  await connection.write(addStatsScript, layout.stats, args);
}

/** Rows as the script lists them: a field is the encoded metric and the digits of the time. */
export function rowsFrom(found: readonly Reply[]): StatRow[] {
  return pairsOf(found).map(([key, row]) => {
    const field = textOf(key);
    const [count = 0, sum = 0, min = 0, max = 0] = textOf(row).split(' ').map(Number);
    return { metric: textsOf(field)[0] ?? '', atS: Number(field.slice(-DIGITS)), count, sum, min, max };
  });
}
