import { Button, Group } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { pushCurl } from '../api/curl.ts';
import type { ListStart, ObjectOwner } from '../api/object-pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { TextField } from '../components/fields.tsx';
import { ExportObjects } from './export-objects.tsx';
import { ImportObjects } from './import-objects.tsx';
import { ownerBody, ownerOptions } from './object-owner.ts';

interface JumpToProps {
  readonly onJump: (start: ListStart) => void;
  readonly isMoved: boolean;
}

/** Begins the list with an object. */
export function JumpTo({ onJump, isMoved }: JumpToProps) {
  const [id, setId] = useState('');
  const jump = (event: FormEvent) => {
    event.preventDefault();
    onJump(id === '' ? {} : { from: id });
  };
  return (
    <form onSubmit={jump}>
      <Group gap={6} align="end">
        <TextField label="Jump to id" size="xs" value={id} onText={setId} />
        <Button size="xs" variant="default" type="submit">
          Jump
        </Button>
        {isMoved && (
          <Button size="xs" variant="default" onClick={() => onJump({})}>
            Show from the beginning
          </Button>
        )}
      </Group>
    </form>
  );
}

interface ToolsProps {
  readonly owner: ObjectOwner;
  readonly selected: ReadonlySet<string>;
  readonly onNew: () => void;
  readonly onChanged: () => Promise<void>;
}

/** What can be done to the objects of an owner. */
export function ObjectTools({ owner, selected, onNew, onChanged }: ToolsProps) {
  const isAdmin = useIsAdmin();
  const ids = [...selected];
  return (
    <Group gap="xs">
      <ExportObjects owner={owner} />
      {isAdmin && <ImportObjects owner={owner} onDone={onChanged} />}
      {isAdmin && ids.length > 0 && (
        <Action
          label={`Delete ${ids.length}`}
          title={`Delete ${counted(ids.length, 'object')}`}
          verb="Delete"
          button={{ variant: 'light', color: 'red', size: 'xs' }}
          typedName={ids.length === 1 ? (ids[0] ?? '') : counted(ids.length, 'object')}
          call={(api) => api.push.deletes(owner.source, ids, ownerOptions(owner))}
          curl={pushCurl(owner.source, { ...ownerBody(owner), objects: ids }, 'push_deletes')}
          onDone={onChanged}
        >
          Devices delete them at their next pull.
        </Action>
      )}
      {isAdmin && (
        <Button size="xs" aria-haspopup="dialog" onClick={onNew}>
          Add object
        </Button>
      )}
    </Group>
  );
}
