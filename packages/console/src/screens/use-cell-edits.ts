import { useQueryClient } from '@tanstack/react-query';
import { canonicalJson } from '@tidemark/protocol';
import { useCallback, useMemo, useRef, useState } from 'react';
import { client } from '../api/client.ts';
import { type ObjectOwner, type ObjectRow, showAgain } from '../api/object-pages.ts';
import type { CellEdit } from './attribute-cell.tsx';
import { type CellValue, valueIn } from './cell-value.ts';
import type { Change } from './object-difference.ts';
import { saving } from './save-changes.ts';
import type { CellNotice } from './saved-notice.tsx';

/** What the cells of a table need to be edited. */
export interface CellEdits {
  /** Opens the field of a cell. */
  readonly open: (id: string, name: string) => void;
  readonly cell: (row: ObjectRow, name: string) => CellEdit;
  readonly undo: () => void;
}

interface SavedChange {
  readonly id: string;
  readonly change: Change;
}

/** Edits cells in their places. Each change is saved at once, and the last one can be taken back; rows stay where they are. */
export function useCellEdits(owner: ObjectOwner) {
  const cache = useQueryClient();
  const [opened, setOpened] = useState<{ readonly id: string; readonly name: string } | null>(null);
  const [notice, setNotice] = useState<CellNotice | null>(null);
  const saved = useRef<SavedChange | null>(null);
  const save = useCallback(
    async ({ id, change }: SavedChange, state: 'saved' | 'undone') => {
      saved.current = null;
      setNotice({ id, change, state: 'saving' });
      const error = await saving(owner, id, [change])
        .call(client)
        .then(() => null, toError);
      // What was saved is saved, also if the row cannot be read again.
      await showAgain(cache, owner, id).catch(() => undefined);
      if (error === null && state === 'saved') saved.current = { id, change };
      setNotice(error === null ? { id, change, state } : { id, change, state: 'failed', error });
    },
    [owner, cache],
  );
  const undo = useCallback(() => {
    if (saved.current === null) return;
    const { id, change } = saved.current;
    void save({ id, change: { ...change, before: change.after, after: change.before } }, 'undone');
  }, [save]);
  const edits = useMemo<CellEdits>(
    () => ({
      open: (id, name) => setOpened({ id, name }),
      cell: (row, name) => ({
        isOpen: opened?.id === row.id && opened.name === name,
        onOpen: () => setOpened({ id: row.id, name }),
        onClose: (after) => {
          setOpened(null);
          const before = valueIn(row, name);
          if (!isSame(before, after)) void save({ id: row.id, change: { name, before, after } }, 'saved');
        },
        onProblem: (problem) => {
          const before = valueIn(row, name);
          const error = new Error(`${name}: ${problem} Open the object to change its type.`);
          setNotice({ id: row.id, change: { name, before, after: before }, state: 'failed', error });
        },
      }),
      undo,
    }),
    [opened, save, undo],
  );
  return { edits, notice, undo, dismiss: () => setNotice(null) };
}

function toError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

function isSame(before: CellValue, after: CellValue): boolean {
  if (before === undefined || after === undefined) return before === after;
  return canonicalJson(before) === canonicalJson(after);
}
