import { Button, FileInput, Group, NativeSelect, Progress, Stack, Text, Textarea } from '@mantine/core';
import { useMemo, useState } from 'react';
import { client } from '../api/client.ts';
import { pushCurl } from '../api/curl.ts';
import type { ObjectOwner } from '../api/object-pages.ts';
import { ActionForm } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { Dialog } from '../components/dialog.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Failure } from '../components/loaded.tsx';
import { ChangedValue } from './changed-value.tsx';
import { type Comparison, compareImport, objectsToSend } from './compare-import.ts';
import type { Attributes } from './object-difference.ts';
import { ownerBody, ownerOptions } from './object-owner.ts';
import { type Columns, columnsIn, type Mapping, objectsIn, type Parsed } from './parse-import.ts';

const PREVIEWED = 3;
/** Objects that the review names. */
const LISTED = 50;
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
      <Button size="xs" variant="default" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Import
      </Button>
      <Dialog title="Import objects" isOpen={isOpen} onClose={() => setOpen(false)} size="xl">
        <Import owner={owner} onDone={onDone} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

/** First the file is chosen, then what it changes is reviewed; only then it is sent. */
function Import({ owner, onDone, onClose }: ImportObjectsProps & { readonly onClose: () => void }) {
  const [file, setFile] = useState<ImportFile>({ text: '', mapping: { id: '', left: [] } });
  const [reviewed, setReviewed] = useState<Reviewed | null>(null);
  const parsed = useMemo(() => (file.text.trim() === '' ? null : objectsIn(file.text, file.mapping)), [file]);
  const objects = parsed?.objects ?? NOTHING;
  if (reviewed !== null) {
    return (
      <Review
        owner={owner}
        objects={reviewed.objects}
        comparison={reviewed.comparison}
        onBack={() => setReviewed(null)}
        onDone={onDone}
        onClose={onClose}
      />
    );
  }
  return (
    <ChooseFile
      file={file}
      onFile={setFile}
      parsed={parsed}
      review={async () => {
        const comparison = await compareImport(objects, (options) => client.documents.objects(owner, options));
        setReviewed({ objects: objectsToSend(objects, comparison), comparison });
      }}
      onClose={onClose}
    />
  );
}

const NOTHING: ReadonlyMap<string, Attributes> = new Map();

/** What was compared, and is sent: the text may change while it is compared. */
interface Reviewed {
  readonly objects: ReadonlyMap<string, Attributes>;
  readonly comparison: Comparison;
}

interface ImportFile {
  readonly text: string;
  readonly mapping: Mapping;
}

interface ChooseFileProps {
  readonly file: ImportFile;
  readonly onFile: (file: ImportFile) => void;
  readonly parsed: Parsed | null;
  readonly review: () => Promise<void>;
  readonly onClose: () => void;
}

function ChooseFile({ file, onFile, parsed, review, onClose }: ChooseFileProps) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const columns = useMemo(() => columnsIn(file.text), [file.text]);
  const run = () => {
    setBusy(true);
    setError(null);
    review().catch((failure) => {
      setError(failure);
      setBusy(false);
    });
  };
  const onText = (text: string) => onFile({ ...file, text });
  const onChosen = (chosen: File | null) => {
    setError(null);
    if (chosen === null) onText('');
    else chosen.text().then(onText, setError);
  };
  return (
    <Stack gap="md">
      <FileInput
        label="File"
        description="JSON: objects by id, or a list of objects. CSV: the first line names the columns."
        placeholder="Choose a file"
        accept=".json,.csv,.txt"
        onChange={onChosen}
        clearable
        clearButtonProps={{ 'aria-label': 'Remove the file' }}
      />
      <Textarea
        label="Or paste it here"
        className="code"
        value={file.text}
        onChange={(event) => onText(event.currentTarget.value)}
        rows={6}
        spellCheck={false}
      />
      {columns !== null && (
        <MapColumns columns={columns} mapping={file.mapping} onChange={(mapping) => onFile({ ...file, mapping })} />
      )}
      {parsed !== null && <Preview parsed={parsed} />}
      {error !== null && <Failure error={error} />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button onClick={run} loading={isBusy} disabled={parsed === null || parsed.objects.size === 0}>
          Review
        </Button>
      </Group>
    </Stack>
  );
}

interface ReviewProps extends ImportObjectsProps {
  /** What is sent. */
  readonly objects: ReadonlyMap<string, Attributes>;
  readonly comparison: Comparison;
  readonly onBack: () => void;
  readonly onClose: () => void;
}

function Review({ owner, objects, comparison, onBack, onDone, onClose }: ReviewProps) {
  const [done, setDone] = useState(0);
  return (
    <ActionForm
      verb={`Import ${counted(objects.size, 'object')}`}
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
      <ImportDifference comparison={comparison} />
      <Group mt="sm">
        <Button size="compact-sm" variant="default" onClick={onBack}>
          Choose again
        </Button>
      </Group>
      {done > 0 && (
        <Progress value={(done / objects.size) * 100} aria-label={`${done} of ${objects.size} objects are imported`} />
      )}
    </ActionForm>
  );
}

/** What is new, and what changes in which attributes. Long lists are cut off, with a note of how many follow. */
function ImportDifference({ comparison }: { readonly comparison: Comparison }) {
  const { added, changed, unchanged, unknown, stored } = comparison;
  return (
    <Stack gap={6}>
      <Text size="sm" fw={600} role="status">
        {added.length.toLocaleString('en')} new, {changed.size.toLocaleString('en')} changed,{' '}
        {unchanged.toLocaleString('en')} unchanged
        {unknown.length > 0 && `, ${counted(unknown.length, 'object')} not compared`}.
      </Text>
      <Text size="sm" c="dimmed">
        {unknown.length === 0
          ? `Every object of the file was compared with the ${counted(stored, 'object')} that are stored.`
          : `${counted(stored, 'object')} are stored. The first objects of the file were compared; the others are sent as well.`}{' '}
        Objects that are unchanged are not sent. Attributes that the file does not have stay.
      </Text>
      <ul className="difference" aria-label="Difference">
        {[...changed].slice(0, LISTED).map(([id, changes]) => (
          <li key={id}>
            <span className="long">{id}</span>
            {changes.map((change) => (
              <ChangedValue key={change.name} change={change} />
            ))}
          </li>
        ))}
      </ul>
      {changed.size > LISTED && <Text size="sm">and {counted(changed.size - LISTED, 'object')} more that change.</Text>}
      {added.length > 0 && (
        <Text size="sm" className="long">
          New: {added.slice(0, LISTED).join(', ')}
          {added.length > LISTED && ` and ${counted(added.length - LISTED, 'object')} more`}
        </Text>
      )}
    </Stack>
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
        {counted(objects.size, 'object')}. The first of them:
      </Text>
      <JsonView label="Preview" value={Object.fromEntries([...objects].slice(0, PREVIEWED))} />
    </Stack>
  );
}
