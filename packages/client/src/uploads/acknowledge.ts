import { ACKNOWLEDGED_PER_CALL } from '../limits.ts';
import type { Reader, Transaction } from '../state/local-state.ts';

/** Outcomes to acknowledge with the next call: source by op_id. */
export type Acknowledgements = ReadonlyMap<string, string>;

export function acknowledgementsToSend(reader: Reader): Acknowledgements {
  const taken = new Map<string, string>();
  for (const [opId, source] of reader.entries('acknowledgements', '')) {
    if (taken.size === ACKNOWLEDGED_PER_CALL) break;
    taken.set(opId, source);
  }
  return taken;
}

/** Returns the member of the request: op_ids by source, or no member if there is nothing to acknowledge. */
export function acknowledgedMember(acks: Acknowledgements): { readonly acknowledged?: Record<string, string[]> } {
  if (acks.size === 0) return {};
  const bySource = new Map<string, string[]>();
  for (const [opId, source] of acks) bySource.set(source, [...(bySource.get(source) ?? []), opId]);
  return { acknowledged: Object.fromEntries(bySource) };
}

/** Removes acknowledgements that the server has received. */
export function dropSent(tx: Transaction, acks: Acknowledgements): void {
  for (const opId of acks.keys()) tx.delete('acknowledgements', ['', opId]);
}
