import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { type JsonValue, parseJson } from '@tidemark/protocol';
import { useState } from 'react';
import type { ObjectOwner, ObjectRow } from '../api/object-pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { ActionForm } from '../components/action.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { JsonView } from '../components/json-view.tsx';
import { ChangedValue } from './changed-value.tsx';
import { type Attributes, type Change, differenceOf } from './object-difference.ts';
import { ObjectFiles } from './object-files.tsx';
import { saving } from './save-changes.ts';

interface EditObjectProps {
  readonly owner: ObjectOwner;
  /** Null: the editor is closed. */
  readonly object: ObjectRow | 'new' | null;
  readonly newId: string;
  readonly onClose: () => void;
  /** Called with the id of the object. */
  readonly onSaved: (id: string) => Promise<void>;
}

/** Edits an object as JSON. What differs is shown before it is saved. */
export function EditObject({ owner, object, newId, onClose, onSaved }: EditObjectProps) {
  const isAdmin = useIsAdmin();
  const title = object === 'new' ? 'Add object' : `Object ${object?.id ?? ''}`;
  return (
    <Dialog title={title} isOpen={object !== null} onClose={onClose} size="xl">
      {object !== null && object !== 'new' && <History object={object} />}
      {object !== null && object !== 'new' && <ObjectFiles attributes={object.attributes} />}
      {object !== null && !isAdmin && object !== 'new' && <JsonView label="Attributes" value={object.attributes} />}
      {object !== null && isAdmin && (
        <Editor owner={owner} object={object} newId={newId} onClose={onClose} onSaved={onSaved} />
      )}
    </Dialog>
  );
}

/** Which attributes changed at which seq. */
function History({ object: { created_seq, seq, changed } }: { readonly object: ObjectRow }) {
  const marks = Object.entries(changed).sort(([, a], [, b]) => b - a);
  return (
    <Text size="sm" c="dimmed" className="long" mb="sm">
      Created or replaced at seq {created_seq.toLocaleString('en')}, last changed at seq {seq.toLocaleString('en')}.
      {marks.length > 0 && ` Changed since: ${marks.map(([name, at]) => `${name} (${at})`).join(', ')}.`}
    </Text>
  );
}

type EditorProps = Omit<EditObjectProps, 'object'> & { readonly object: ObjectRow | 'new' };

function Editor({ owner, object, newId, onClose, onSaved }: EditorProps) {
  const old: Attributes = object === 'new' ? {} : (object.attributes as Attributes);
  const [id, setId] = useState(object === 'new' ? newId : object.id);
  const [text, setText] = useState(object === 'new' ? '{\n  "title": ""\n}' : JSON.stringify(old, null, 2));
  const [reviewed, setReviewed] = useState<Attributes | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const review = () => {
    const read = readAttributes(text);
    setProblem(typeof read === 'string' ? read : null);
    setReviewed(typeof read === 'string' ? null : read);
  };
  if (reviewed !== null) {
    const difference = differenceOf(old, reviewed);
    const { call, curl } = saving(owner, id, difference, object === 'new');
    return (
      <ActionForm
        verb="Save"
        isFocused
        call={call}
        curl={curl}
        isDisabled={difference.length === 0 && object !== 'new'}
        onDone={() => onSaved(id)}
        onClose={onClose}
      >
        <Difference id={id} difference={difference} />
        <Group>
          <Button size="compact-sm" variant="default" onClick={() => setReviewed(null)}>
            Edit again
          </Button>
        </Group>
      </ActionForm>
    );
  }
  return (
    <Stack gap="md">
      {object === 'new' && <TextField label="Id" value={id} onText={setId} required data-autofocus />}
      <Textarea
        label="Attributes as JSON"
        className="code"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        error={problem}
        rows={14}
        spellCheck={false}
        data-autofocus={object !== 'new'}
      />
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button onClick={review} disabled={id === ''}>
          Review
        </Button>
      </Group>
    </Stack>
  );
}

/** Returns the attributes, or what is wrong with the text. */
function readAttributes(text: string): Attributes | string {
  try {
    const value = parseJson(text) as JsonValue;
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Attributes;
    return 'It must be an object of attributes, such as {"name": "Pump"}.';
  } catch (error) {
    return `It is not JSON: ${error instanceof Error ? error.message : String(error)}`;
  }
}

function Difference({ id, difference }: { readonly id: string; readonly difference: readonly Change[] }) {
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600} className="long">
        {difference.length === 0 ? `Nothing differs in ${id}.` : `What changes in ${id}:`}
      </Text>
      <ul className="difference" aria-label="Difference">
        {difference.map((change) => (
          <li key={change.name}>
            <ChangedValue change={change} />
          </li>
        ))}
      </ul>
    </Stack>
  );
}
