import { ACKNOWLEDGED_PER_CALL } from '../limits.ts';
import { parseScope } from '../state/group-rows.ts';
import type { Reader, Transaction } from '../state/local-state.ts';

/** Outcomes to acknowledge with the next call: source and group by op_id, as `scopeText` writes them. */
export type Acknowledgements = ReadonlyMap<string, string>;

export function acknowledgementsToSend(reader: Reader): Acknowledgements {
  const taken = new Map<string, string>();
  for (const [opId, source] of reader.entries('acknowledgements', '')) {
    if (taken.size === ACKNOWLEDGED_PER_CALL) break;
    taken.set(opId, source);
  }
  return taken;
}

/** Op ids by source, or by source and group. */
type AcknowledgedMember = Record<string, string[] | Record<string, string[]>>;

/** Returns the member of the request, or no member if there is nothing to acknowledge. */
export function acknowledgedMember(acks: Acknowledgements): { readonly acknowledged?: AcknowledgedMember } {
  if (acks.size === 0) return {};
  const plain = new Map<string, string[]>();
  const grouped = new Map<string, Map<string, string[]>>();
  for (const [opId, text] of acks) {
    const { source, group } = parseScope(text);
    if (group === undefined) plain.set(source, [...(plain.get(source) ?? []), opId]);
    else {
      const ofSource = grouped.get(source) ?? new Map<string, string[]>();
      grouped.set(source, ofSource.set(group, [...(ofSource.get(group) ?? []), opId]));
    }
  }
  const byGroup = [...grouped].map(([source, groups]) => [source, Object.fromEntries(groups)] as const);
  return { acknowledged: { ...Object.fromEntries(plain), ...Object.fromEntries(byGroup) } };
}

/** Removes acknowledgements that the server has received. */
export function dropSent(tx: Transaction, acks: Acknowledgements): void {
  for (const opId of acks.keys()) tx.delete('acknowledgements', ['', opId]);
}
