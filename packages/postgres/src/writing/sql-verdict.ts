import { Rejected } from '@tidemark/backend';
import { DatabaseError } from 'pg';
import type { WrittenTable } from './written-table.ts';

/** The transaction may succeed when it is tried again: it met another one. */
const AGAIN = new Set(['40001', '40P01', '55P03']);

export function isWorthRepeating(error: unknown): boolean {
  const cause = error instanceof Error ? (error.cause ?? error) : error;
  return cause instanceof DatabaseError && AGAIN.has(cause.code ?? '');
}

/**
 * Returns what a device is told when the database refuses its change for good. Null: the change was not judged, because
 * the connection was lost, the server is busy or the set-up is wrong; it must be tried again.
 */
export function sqlVerdict(error: unknown, table: WrittenTable): Rejected | null {
  if (!(error instanceof DatabaseError)) return null;
  const reason = reasonOf(error, table);
  return reason === null ? null : new Rejected(reason);
}

function reasonOf(error: DatabaseError, table: WrittenTable): string | null {
  // Raised by a trigger or a function, with whatever code: its text is written for people.
  if (error.routine === 'exec_stmt_raise' && !isPassing(error)) return error.message;
  const rule = error.constraint === undefined ? '' : ` (rule ${error.constraint})`;
  switch (error.code) {
    case '23502':
      return `"${attributeOf(table, error.column)}" needs a value`;
    case '23503':
      // Of a deletion, the table that is named is the one whose rows refer to the object.
      return error.table === undefined || error.table === table.name
        ? `it refers to something that does not exist${rule}`
        : `rows of "${error.table}" still refer to it${rule}`;
    case '23505':
      return `another object has the same value${rule}`;
    case '23514':
      return `it breaks a rule of the database${rule}`;
    case '23P01':
      return `it overlaps with another object${rule}`;
    case '42501':
      return 'this user may not do that';
    default:
      return REJECTED_CLASSES.has(error.code?.slice(0, 2) ?? '') ? `the database refuses it: ${error.message}` : null;
  }
}

/** 08: the connection; 40: other transactions; 53, 57, 58, XX: the state of the server; 55: something is in use. */
const PASSING_CLASSES = new Set(['08', '40', '53', '55', '57', '58', 'XX']);

function isPassing({ code = '' }: DatabaseError): boolean {
  return PASSING_CLASSES.has(code.slice(0, 2));
}

/** 22: a value that the type of its column cannot hold; 23: broken constraints; 44: a view's check option; 54: too large for an index. */
const REJECTED_CLASSES = new Set(['22', '23', '44', '54']);

function attributeOf({ columns }: WrittenTable, column: string | undefined): string {
  return columns.find(({ name }) => name === column)?.attribute ?? column ?? '';
}
