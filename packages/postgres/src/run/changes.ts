import type { Batch } from '../apply/batch.ts';
import { columnsOf, type MappedTable, oldRowOf, overlaid, type Row, rowOf, textsOf } from '../apply/row.ts';
import type { Overlay } from '../copy/overlay.ts';
import type { Message, Relation } from '../replication/message.ts';
import { objectId } from '../sql/object-id.ts';

export type RowMessage = Extract<Message, { readonly type: 'insert' | 'update' | 'delete' }>;

/** A table of the stream that is in the mapping. */
export interface StreamedTable {
  readonly relation: Relation;
  readonly table: MappedTable;
  readonly columns: ReadonlySet<string>;
}

export function streamedTable(relation: Relation, table: MappedTable): StreamedTable {
  return { relation, table, columns: new Set(columnsOf(table)) };
}

/** What takes the changes of rows: the batch for Tidemark, and the window of a chunk that is being read. */
export interface ChangeSink {
  insert(id: string, row: Row): void;
  update(id: string, row: Row): void;
  delete(id: string): void;
}

/** Leaves out the rows that are held back: they are read from the table later. */
export function batchSink(batch: Batch, label: string, isHeld: (id: string) => boolean): ChangeSink {
  return {
    insert: (id, row) => {
      if (!isHeld(id)) batch.insert(label, id, row);
    },
    update: (id, row) => {
      if (!isHeld(id)) batch.update(label, id, row);
    },
    delete: (id) => {
      if (!isHeld(id)) batch.delete(label, id);
    },
  };
}

/** What the change of a row says, by object id. */
interface NamedChange {
  /** The id that the row had and has no more; null: it keeps its id, or is new. */
  readonly gone: string | null;
  /** The row as it is now; null: it is deleted. */
  readonly now: { readonly id: string; readonly row: Row; readonly isNew: boolean } | null;
}

/** Passes the change of a row on. Returns false when its key is not known, so that it cannot be named. */
export function passChange(
  streamed: StreamedTable,
  message: RowMessage,
  sinks: readonly (ChangeSink | Overlay)[],
): boolean {
  const change = namedChange(streamed, message);
  if (change === null) return false;
  const { gone, now } = change;
  for (const sink of sinks) {
    if (gone !== null) sink.delete(gone);
    if (now?.isNew === true) sink.insert(now.id, now.row);
    else if (now !== null) sink.update(now.id, now.row);
  }
  return true;
}

function namedChange({ relation, table, columns }: StreamedTable, message: RowMessage): NamedChange | null {
  const idOf = (row: Row) => {
    const key = textsOf(row, table.plan.key);
    return key === null ? null : objectId(key);
  };
  if (message.type === 'delete') {
    const gone = idOf(oldRowOf(relation, message.old, columns));
    return gone === null ? null : { gone, now: null };
  }
  const sent = rowOf(relation, message.row, columns);
  const old = message.type === 'update' && message.old !== null ? oldRowOf(relation, message.old, columns) : new Map();
  // A full old row has the values that the new one leaves out because they did not change.
  const isFull = message.type === 'update' && message.old?.kind === 'full';
  const id = idOf(overlaid(old, sent));
  if (id === null) return null;
  const before = idOf(old);
  const gone = before === null || before === id ? null : before;
  return {
    gone,
    now: { id, row: isFull ? overlaid(old, sent) : sent, isNew: message.type === 'insert' || gone !== null },
  };
}
