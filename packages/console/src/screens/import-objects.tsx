import { Button, FileInput, Group, NativeSelect, Progress, Stack, Text, Textarea } from '@mantine/core';
import { useState } from 'react';
import { pushCurl } from '../api/curl.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import { ActionForm } from '../components/action.tsx';
import { Dialog } from '../components/dialog.tsx';
import { JsonView } from '../components/json-view.tsx';
import { ownerBody, ownerOptions } from './object-owner.ts';
import { type Columns, columnsIn, type Mapping, objectsIn, type Parsed } from './parse-import.ts';

const PREVIEWED = 3;
/** Objects of one call, so that the progress moves. */
const CHUNK_OBJECTS = 2_000;

interface ImportObjectsProps {
  readonly owner: ObjectOwner;
  readonly onDone: () => Promise<void>;
}

/** Adds the objects of a file: JSON, or CSV with a choice of columns. */
export function ImportObjects({ owner, onDone }: ImportObjectsProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <Button size="xs" variant="default" onClick={() => setOpen(true)}>
        Import
      </Button>
      <Dialog title="Import objects" isOpen={isOpen} onClose={() => setOpen(false)} size="xl">
        <Import owner={owner} onDone={onDone} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

function Import({ owner, onDone, onClose }: ImportObjectsProps & { readonly onClose: () => void }) {
  const [text, setText] = useState('');
  const [mapping, setMapping] = useState<Mapping>({ id: '', left: [] });
  const [done, setDone] = useState(0);
  const columns = columnsIn(text);
  const parsed = text.trim() === '' ? null : objectsIn(text, mapping);
  const objects = parsed?.objects ?? new Map();
  return (
    <ActionForm
      verb={`Import ${objects.size.toLocaleString('en')} objects`}
      call={(api) =>
        api.push.objects(owner.source, objects, {
          ...ownerOptions(owner),
          chunkObjectsMax: CHUNK_OBJECTS,
          onProgress: (progress) => setDone(progress.objects),
        })
      }
      curl={pushCurl(owner.source, {
        ...ownerBody(owner),
        objects: Object.fromEntries([...objects].slice(0, PREVIEWED)),
      })}
      isDisabled={objects.size === 0}
      onDone={onDone}
      onClose={onClose}
    >
      <FileInput
        label="File"
        description="JSON: objects by id, or a list of objects. CSV: the first line names the columns."
        accept=".json,.csv,.txt"
        onChange={async (file) => setText(file === null ? '' : await file.text())}
        clearable
        clearButtonProps={{ 'aria-label': 'Remove the file' }}
      />
      <Textarea
        label="Or paste it here"
        className="code"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        rows={6}
        spellCheck={false}
      />
      {columns !== null && <MapColumns columns={columns} mapping={mapping} onChange={setMapping} />}
      {parsed !== null && <Preview parsed={parsed} />}
      {done > 0 && (
        <Progress value={(done / objects.size) * 100} aria-label={`${done} of ${objects.size} objects are imported`} />
      )}
    </ActionForm>
  );
}

interface MapColumnsProps {
  readonly columns: Columns;
  readonly mapping: Mapping;
  readonly onChange: (mapping: Mapping) => void;
}

function MapColumns({ columns, mapping, onChange }: MapColumnsProps) {
  const { id, left } = mapping;
  return (
    <Stack gap="xs">
      <NativeSelect
        label="Column with the id"
        value={id}
        onChange={(event) => onChange({ ...mapping, id: event.currentTarget.value })}
        data={[{ value: '', label: 'the first column' }, ...columns]}
      />
      <Group gap={6}>
        <Text size="sm">Columns:</Text>
        {columns.map((name) => (
          <Button
            key={name}
            size="compact-xs"
            variant={left.includes(name) ? 'default' : 'light'}
            aria-pressed={!left.includes(name)}
            onClick={() =>
              onChange({ ...mapping, left: left.includes(name) ? left.filter((one) => one !== name) : [...left, name] })
            }
          >
            {name}
          </Button>
        ))}
      </Group>
    </Stack>
  );
}

function Preview({ parsed: { objects, problem } }: { readonly parsed: Parsed }) {
  if (problem !== null) {
    return (
      <Text size="sm" c="var(--mantine-color-error)" role="alert">
        {problem}
      </Text>
    );
  }
  return (
    <Stack gap={6}>
      <Text size="sm" c="dimmed">
        {objects.size.toLocaleString('en')} objects. The first of them:
      </Text>
      <JsonView label="Preview" value={Object.fromEntries([...objects].slice(0, PREVIEWED))} />
      <Text size="sm" c="dimmed">
        Attributes of existing objects are set; attributes that the file does not have stay. What is the same already
        changes nothing.
      </Text>
    </Stack>
  );
}
