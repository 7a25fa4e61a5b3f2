import type { StatRow } from '@tidemark/core/ports';
import { DIGITS, digitsOf, inclusive, keyOf, membersFrom, textsOf } from './keys.ts';
import type { Layout } from './layout.ts';
import type { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { listOf, numberOf, textOf } from './reply.ts';
import { addStatsScript, readStatsScript, statNamesScript, trimStatsScript } from './scripts/stats.ts';

/** Names fetched in one step. */
const NAMES_PER_READ = 1_000;

export async function addStats(link: Link, layout: Layout, rows: readonly StatRow[]): Promise<void> {
  const args = rows.flatMap((row) => [
    keyOf(row.metric) + digitsOf(row.atS),
    row.atS,
    row.count,
    row.sum,
    row.min,
    row.max,
  ]);
  await link.write(addStatsScript, layout.stats, listArgs(args));
}

export async function readStats(
  link: Link,
  layout: Layout,
  metric: string,
  from: 'oldest' | 'newest',
  limit: number,
): Promise<readonly StatRow[]> {
  const { min, max } = membersFrom(keyOf(metric));
  const found = listOf(await link.run(readStatsScript, layout.stats, [from, min, max, limit]));
  const rows: StatRow[] = [];
  for (let index = 0; index < found.length; index += 2) {
    rows.push(rowFrom(metric, textOf(found[index]), textOf(found[index + 1])));
  }
  return from === 'oldest' ? rows : rows.reverse();
}

export function rowFrom(metric: string, field: string, text: string): StatRow {
  const atS = Number(field.slice(-DIGITS));
  const [count = 0, sum = 0, min = 0, max = 0] = text.split(' ').map(Number);
  return { metric, atS, count, sum, min, max };
}

export async function statNames(link: Link, layout: Layout): Promise<readonly string[]> {
  const names: string[] = [];
  let after = '-';
  for (;;) {
    const found = listOf(await link.run(statNamesScript, layout.stats, [NAMES_PER_READ, after]));
    names.push(...found.map((field) => textsOf(textOf(field))[0] ?? ''));
    const last = names.at(-1);
    if (found.length < NAMES_PER_READ || last === undefined) return names;
    // The range behind a name begins where that of the name ends, which is told as an excluded end.
    after = inclusive(membersFrom(keyOf(last)).max.slice(1));
  }
}

export async function trimStats(link: Link, layout: Layout, beforeS: number, rowsMax: number): Promise<number> {
  return numberOf(await link.write(trimStatsScript, layout.stats, [beforeS, rowsMax]));
}
