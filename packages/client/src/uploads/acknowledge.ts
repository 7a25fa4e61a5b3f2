import { ACKNOWLEDGED_PER_CALL } from '../limits.ts';
import type { Reader, Transaction } from '../state/local-state.ts';

/** Outcomes to acknowledge with the next call: op_id → source. */
export type Acknowledgements = ReadonlyMap<string, string>;

export function acknowledgementsToSend(reader: Reader): Acknowledgements {
  const taken = new Map<string, string>();
  for (const [opId, source] of reader.entries('acknowledgements', '')) {
    if (taken.size === ACKNOWLEDGED_PER_CALL) break;
    taken.set(opId, source);
  }
  return taken;
}

/** As the wire has them: source → op_ids; nothing at all when there is nothing to say. */
export function acknowledgedMember(acks: Acknowledgements): { readonly acknowledged?: Record<string, string[]> } {
  if (acks.size === 0) return {};
  const bySource = new Map<string, string[]>();
  for (const [opId, source] of acks) bySource.set(source, [...(bySource.get(source) ?? []), opId]);
  return { acknowledged: Object.fromEntries(bySource) };
}

/** The call was answered, so the server knows. */
export function dropSent(tx: Transaction, acks: Acknowledgements): void {
  for (const opId of acks.keys()) tx.delete('acknowledgements', ['', opId]);
}
