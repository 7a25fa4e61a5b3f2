import type { AuditFact } from './audit.ts';
import { csvRow } from './csv-text.ts';

const SUBJECT = ['user_id', 'client_id', 'source', 'group', 'object_id', 'name'] as const;
const COLUMNS = ['at', 'actor', 'action', 'result', 'count', ...SUBJECT, 'changes', 'address', 'target', 'id'] as const;

/** The first row of an audit trail as CSV. */
export const AUDIT_CSV_HEAD = csvRow(COLUMNS);

/** Returns an entry of the audit trail as a row of CSV. */
export function auditCsvRow(fact: AuditFact): string {
  const cells: Readonly<Record<string, unknown>> = { ...fact, ...fact.subject, changes: changesText(fact) };
  return csvRow(COLUMNS.map((column) => cells[column]));
}

/** Returns the changes of attributes as one text. */
export function changesText({ changes, are_changes_cut: isCut }: AuditFact): string {
  const texts = changes.map((one) => `${one.object_id}.${one.attribute}: ${one.old ?? 'none'} → ${one.new ?? 'none'}`);
  return [...texts, ...(isCut ? ['…'] : [])].join('; ');
}

/** Returns what an entry is about as one text: the names in the order of `AuditSubject`. */
export function subjectText({ subject }: AuditFact): string {
  return SUBJECT.flatMap((kind) => subject[kind] ?? []).join(' · ');
}
