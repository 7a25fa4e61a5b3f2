import type { OracleState } from '../model/oracle-state.ts';
import { partitionText } from '../model/partition.ts';
import { demand } from '../runner/violation.ts';
import type { HistoryRun } from './history-run.ts';
import { PARTITIONS } from './partitions.ts';
import type { Acknowledged } from './token-ledger.ts';

/** Verdicts that say the same about what the device holds. */
const SAME: Readonly<Record<string, string>> = {
  behind: 'waiting',
  pending: 'waiting',
  deletion_pending: 'waiting',
  device_away: 'waiting',
  deleted: 'gone',
  trimmed_or_never_existed: 'gone',
};

/** Checks receipts and explanations against the oracle, for devices of which it is certain what they acknowledged. */
export async function checkDelivery(run: HistoryRun): Promise<void> {
  for (const partition of PARTITIONS) {
    const { head } = await run.status(partition);
    const acknowledged = run.tokens.acknowledged(partition);
    if (head === 0 || acknowledged.size === 0) continue;
    const behind = await run.server.behind(partition);
    for (const [client, base] of acknowledged) {
      const wanted = expectedReceipt(base, head);
      demand(
        behind.get(client) === wanted,
        'SIM-13',
        () =>
          `${client} of ${partitionText(partition)} has acknowledged ${wanted}, the receipt says ${behind.get(client)}`,
      );
      const held = { base, sent: run.tokens.sent(partition, client), state: run.oracle.state(partition) };
      await checkVerdicts(run, client, partition.source, held);
    }
  }
}

/** Undefined: the device is not listed among those that are behind. */
function expectedReceipt(base: Acknowledged, head: number): number | null | undefined {
  if (base === 'other_epoch') return undefined;
  return base !== null && base.head >= head ? undefined : (base?.head ?? null);
}

interface Held {
  readonly base: Acknowledged;
  /** The oracle time as of which the device was last sent everything. */
  readonly sent: number | undefined;
  readonly state: OracleState;
}

async function checkVerdicts(run: HistoryRun, client: string, source: string, held: Held): Promise<void> {
  for (const object of held.state.touched.keys()) {
    const verdict = await run.server.verdict(client, source, object);
    const expected = expectedVerdict(held, object);
    demand(
      expected.includes(SAME[verdict] ?? verdict),
      'SIM-13',
      () => `${JSON.stringify(object)} on ${client} is explained as ${verdict}, expected ${expected.join(' or ')}`,
    );
  }
}

function expectedVerdict({ base, sent = -1, state }: Held, object: string): readonly string[] {
  const isLive = state.objects.has(object);
  const touched = state.touched.get(object) ?? 0;
  // That an answer was complete is recorded at most once a second, so the device may also count as waiting.
  const isSent = touched <= sent ? ['unconfirmed'] : [];
  // Whether the tombstone is trimmed is not known here.
  const isForgotten = isLive ? [] : ['gone'];
  if (base === 'other_epoch') return ['other_epoch', ...isForgotten];
  if (base === null) return ['starting_over', ...isSent, ...isForgotten];
  if (touched > base.time) return ['waiting', ...isSent, ...isForgotten];
  return isLive ? ['current'] : ['gone'];
}
