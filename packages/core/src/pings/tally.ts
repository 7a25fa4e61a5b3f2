import { type FinalStatus, isFinal, type PingRecord, type ResultRecord } from './ping-record.ts';

export interface Tallied {
  readonly ping: PingRecord;
  readonly result: ResultRecord;
}

/**
 * The ping with one more result counted. Null: there is nothing to write, because the device has had its last word. A
 * failure is a last word only until somebody tries again, as when an operator revives the job.
 */
export function tally(ping: PingRecord, before: ResultRecord | null, result: ResultRecord): Tallied | null {
  if (before !== null && isFinal(before.status) && before.status !== 'failed') return null;
  const isRepeated = result.isRepeated || (before?.isRepeated ?? false);
  const counts = new Map<FinalStatus, number>();
  if (before !== null && isFinal(before.status)) counts.set(before.status, -1);
  if (isFinal(result.status)) counts.set(result.status, (counts.get(result.status) ?? 0) + 1);
  const isNewlyRepeated = isRepeated && before?.isRepeated !== true;
  return { ping: counted(ping, counts, isNewlyRepeated), result: { ...result, isRepeated } };
}

function counted(ping: PingRecord, changes: ReadonlyMap<FinalStatus, number>, isNewlyRepeated: boolean): PingRecord {
  if (changes.size === 0 && !isNewlyRepeated) return ping;
  const counts = { ...ping.counts };
  for (const [status, change] of changes) counts[status] += change;
  return { ...ping, counts, repeated: ping.repeated + (isNewlyRepeated ? 1 : 0) };
}
