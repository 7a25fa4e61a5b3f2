import type { Scan } from '@tidemark/client';
import { textKey } from '@tidemark/protocol';
import type { StoredIndex } from './index-list.ts';
import type { SqliteValue } from './sqlite-driver.ts';

interface ScanSql {
  /** The table and the conditions. */
  readonly where: string;
  readonly order: string;
  readonly values: readonly SqliteValue[];
}

/** Returns the parts of a query that scans objects by their ids, or by an index. */
export function scanSql(scan: Scan, index: StoredIndex | null): ScanSql {
  return index === null ? byId(scan) : byIndex(scan, index);
}

function byId({ first, isDescending, after }: Scan): ScanSql {
  const where = `objects WHERE first = ?${after === null ? '' : ` AND id ${isDescending ? '<' : '>'} ?`}`;
  const values = [textKey(first), ...(after === null ? [] : [textKey(after.id)])];
  return { where, order: `ORDER BY id${isDescending ? ' DESC' : ''}`, values };
}

/** The index is for one source alone, so the condition that says so is a literal, as in the index. */
function byIndex({ first, range, isDescending, after }: Scan, { name, position }: StoredIndex): ScanSql {
  const key = `keys ->> ${position}`;
  const conditions = [`first = ${literal(textKey(first))}`];
  const values: string[] = [];
  if (range !== null) {
    conditions.push(`${key} >= ?`, `${key} < ?`);
    values.push(range.from, range.to);
  }
  if (after !== null) {
    const [closed, open] = isDescending ? ['<=', '<'] : ['>=', '>'];
    conditions.push(`${key} ${closed} ?`, `(${key} ${open} ? OR id > ?)`);
    values.push(after.key, after.key, textKey(after.id));
  }
  const where = `objects INDEXED BY ${name} WHERE ${conditions.join(' AND ')}`;
  return { where, order: `ORDER BY ${key}${isDescending ? ' DESC' : ''}, id`, values };
}

export function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
