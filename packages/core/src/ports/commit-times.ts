import { COMMIT_INTERVAL_S, COMMIT_INTERVALS_MAX } from '@tidemark/protocol';

/** Changes of a partition that were committed within some time: those from `seq` on, up to the next interval. */
export interface CommitInterval {
  readonly seq: number;
  readonly fromMs: number;
  readonly toMs: number;
}

/** An interval as it is stored, in seconds. */
interface StoredInterval {
  readonly seq: number;
  readonly fromS: number;
  readonly spanS: number;
}

/**
 * Adds a commit to the stored text, whose intervals are `seq:from:span` with commas in between. The two are joined whose
 * time is the shortest in proportion to its age: the times of recent changes stay exact, those of old ones become coarse.
 * The Valkey engine does the same in its commit script.
 */
export function addCommitTime(text: string, seq: number, atMs: number): string {
  const nowS = Math.floor(atMs / 1_000);
  const last = /:(\d+):\d+$/.exec(text);
  if (last !== null && Math.abs(nowS - Number(last[1])) < COMMIT_INTERVAL_S) return text;
  const stored = [...storedIntervals(text), { seq, fromS: nowS, spanS: COMMIT_INTERVAL_S }];
  if (stored.length > COMMIT_INTERVALS_MAX) joinOne(stored, nowS);
  return stored.map(({ seq: first, fromS, spanS }) => `${first}:${fromS}:${spanS}`).join(',');
}

export function readCommitTimes(text: string): readonly CommitInterval[] {
  return storedIntervals(text).map(({ seq, fromS, spanS }) => {
    return { seq, fromMs: fromS * 1_000, toMs: (fromS + spanS) * 1_000 };
  });
}

function storedIntervals(text: string): StoredInterval[] {
  if (text === '') return [];
  return text.split(',').map((part) => {
    const [seq, fromS, spanS] = part.split(':');
    return { seq: Number(seq), fromS: Number(fromS), spanS: Number(spanS) };
  });
}

function joinOne(stored: StoredInterval[], nowS: number): void {
  let best = 1;
  let least = Number.POSITIVE_INFINITY;
  for (let at = 1; at < stored.length; at++) {
    const { fromS } = stored[at - 1] as StoredInterval;
    const share = joinedSpan(stored, at) / (Math.abs(nowS - fromS) + COMMIT_INTERVAL_S);
    if (share < least) [best, least] = [at, share];
  }
  stored[best - 1] = { ...(stored[best - 1] as StoredInterval), spanS: joinedSpan(stored, best) };
  stored.splice(best, 1);
}

/** How long the interval before `at` lasts when it takes over the one at `at`. */
function joinedSpan(stored: readonly StoredInterval[], at: number): number {
  const before = stored[at - 1] as StoredInterval;
  const { fromS, spanS } = stored[at] as StoredInterval;
  return Math.max(before.spanS, fromS + spanS - before.fromS);
}
