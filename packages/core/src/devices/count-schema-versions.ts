import { allEntries } from '../entries/all-entries.ts';
import { type Clock, elapsedMs } from '../ports/clock.ts';
import type { Pace } from '../ports/pace.ts';
import type { Store } from '../ports/store.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { lastContactMs, readClientRecord } from './client-record.ts';

/** A device that was not here for longer counts as gone. */
const RECENT_MS = 30 * 86_400_000;

/** How many devices that were here in the last 30 days were built with which version of the schema of a source. */
export async function countSchemaVersions(
  { store, clock, pace }: { readonly store: Store; readonly clock: Clock; readonly pace: Pace },
  source: string,
): Promise<{ readonly versions: ReadonlyMap<number, number>; readonly unknown: number }> {
  const versions = new Map<number, number>();
  let unknown = 0;
  const budget = new WorkBudget();
  for await (const { value } of allEntries(store, 'client', [])) {
    if (budget.isSpent(value.length)) await pace.turn();
    const record = readClientRecord(value);
    const isGone = record.wipe !== undefined || elapsedMs(lastContactMs(record), clock.nowMs()) >= RECENT_MS;
    if (isGone) continue;
    const said = record.device.schema_versions ?? {};
    const version = Object.hasOwn(said, source) ? said[source] : undefined;
    if (version === undefined) unknown++;
    else versions.set(version, (versions.get(version) ?? 0) + 1);
  }
  return { versions, unknown };
}
