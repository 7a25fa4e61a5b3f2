import { Button, CloseButton, Group, Text } from '@mantine/core';
import { errorWords } from '../api/session.ts';
import { ChangedValue } from './changed-value.tsx';
import type { Change } from './object-difference.ts';

/** What became of the last change of a cell. */
export interface CellNotice {
  readonly id: string;
  readonly change: Change;
  readonly state: 'saving' | 'saved' | 'undone' | 'failed';
  readonly error?: unknown;
}

const WORDS = { saving: 'Saving', saved: 'Saved', undone: 'Undone', failed: 'Not saved' } as const;

interface SavedNoticeProps {
  readonly notice: CellNotice;
  readonly onUndo: () => void;
  readonly onClose: () => void;
}

/** Tells at the bottom of the screen what was saved, and takes it back. */
export function SavedNotice({ notice: { id, change, state, error }, onUndo, onClose }: SavedNoticeProps) {
  return (
    <div className="notice" role={state === 'failed' ? 'alert' : 'status'} data-state={state}>
      <Group gap="sm" wrap="nowrap" justify="space-between">
        <div className="notice-words">
          <b>{WORDS[state]}</b> <span className="name">{id}</span>
          {state === 'failed' ? <Text size="sm">{errorWords(error).detail}</Text> : <ChangedValue change={change} />}
        </div>
        <Group gap={4} wrap="nowrap">
          {state === 'saved' && (
            <Button size="compact-sm" variant="light" title="Ctrl+Z in the table" onClick={onUndo}>
              Undo
            </Button>
          )}
          <CloseButton size="sm" aria-label="Dismiss" onClick={onClose} />
        </Group>
      </Group>
    </div>
  );
}
