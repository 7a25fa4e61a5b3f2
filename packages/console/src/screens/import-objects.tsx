import { Button, FileInput, Group, NativeSelect, Progress, Stack, Text, Textarea } from '@mantine/core';
import { type RefObject, useEffect, useMemo, useRef, useState } from 'react';
import { client } from '../api/client.ts';
import { type ApiCall, pushCurl } from '../api/curl.ts';
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

/** Stops the import that is under way; null: none is. */
type StopImport = (() => void) | null;

/** Adds the objects of a file: JSON, or CSV with a choice of columns. */
export function ImportObjects({ owner, onDone }: ImportObjectsProps) {
  const [isOpen, setOpen] = useState(false);
  const stop = useRef<StopImport>(null);
  // An import that is stopped says in the dialog what was imported.
  const close = () => (stop.current === null ? setOpen(false) : stop.current());
  return (
    <>
      <Button size="xs" variant="default" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Import
      </Button>
      <Dialog title="Import objects" isOpen={isOpen} onClose={close} size="xl">
        <Import owner={owner} onDone={onDone} onClose={close} stop={stop} />
      </Dialog>
    </>
  );
}

interface ImportProps extends ImportObjectsProps {
  /** Closes the dialog, or stops the import that is under way. */
  readonly onClose: () => void;
  readonly stop: RefObject<StopImport>;
}

/** First the file is chosen, then what it changes is reviewed; only then it is sent. */
function Import({ onClose, ...props }: ImportProps) {
  const { owner } = props;
  const [file, setFile] = useState<ImportFile>({ text: '', mapping: { id: '', left: [] } });
  const [reviewed, setReviewed] = useState<Reviewed | null>(null);
  const parsed = useMemo(() => (file.text.trim() === '' ? null : objectsIn(file.text, file.mapping)), [file]);
  const objects = parsed?.objects ?? NOTHING;
  if (reviewed !== null) {
    return (
      <Review
        {...props}
        objects={reviewed.objects}
        comparison={reviewed.comparison}
        onBack={() => setReviewed(null)}
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

interface ReviewProps extends ImportProps {
  /** What is sent. */
  readonly objects: ReadonlyMap<string, Attributes>;
  readonly comparison: Comparison;
  readonly onBack: () => void;
}

function Review({ owner, objects, comparison, onBack, onDone, onClose, stop }: ReviewProps) {
  const { send, done, state } = useImport({ owner, objects, onDone, stop });
  return (
    <ActionForm
      verb={`Import ${counted(objects.size - done, done === 0 ? 'object' : 'more object')}`}
      call={send}
      curl={pushCurl(owner.source, {
        ...ownerBody(owner),
        objects: Object.fromEntries([...objects].slice(0, PREVIEWED)),
      })}
      isDisabled={objects.size === 0}
      onDone={onDone}
      showAnswer={(imported) =>
        imported === objects.size ? null : <Stopped imported={Number(imported)} all={objects.size} />
      }
      onClose={onClose}
      closeVerb={{ idle: undefined, sending: 'Stop', stopping: 'Stopping' }[state]}
    >
      <ImportDifference comparison={comparison} />
      <Group mt="sm">
        <Button size="compact-sm" variant="default" onClick={onBack} disabled={state !== 'idle'}>
          Choose another file
        </Button>
      </Group>
      {(done > 0 || state !== 'idle') && <Done imported={done} all={objects.size} />}
    </ActionForm>
  );
}

interface ImportedProps {
  readonly imported: number;
  readonly all: number;
}

function Done({ imported, all }: ImportedProps) {
  const words = `${imported.toLocaleString('en')} of ${counted(all, 'object')} are imported`;
  return (
    <Stack gap={4} mt="sm">
      <Progress value={(imported / all) * 100} aria-label={words} />
      <Text size="sm" c="dimmed">
        {words}.
      </Text>
    </Stack>
  );
}

function Stopped({ imported, all }: ImportedProps) {
  return (
    <Text size="sm" fw={600} role="status">
      Stopped after {counted(imported, 'object')}. The other {(all - imported).toLocaleString('en')} were not sent.
    </Text>
  );
}

/**
 * Sends objects in batches. It stops between two of them, so that it is known what was imported, and continues there when
 * it is called again. Leaving the screen stops it, too.
 */
function useImport({ owner, objects, onDone, stop }: Pick<ReviewProps, 'owner' | 'objects' | 'onDone' | 'stop'>) {
  const [done, setDone] = useState(0);
  const [state, setState] = useState<'idle' | 'sending' | 'stopping'>('idle');
  useEffect(() => () => stop.current?.(), [stop]);
  const send: ApiCall = async (api) => {
    const stopping = new AbortController();
    let isStopped = false;
    let imported = done;
    stop.current = () => {
      isStopped = true;
      setState('stopping');
    };
    setState('sending');
    try {
      await api.push.objects(owner.source, [...objects].slice(done), {
        ...ownerOptions(owner),
        chunkObjectsMax: CHUNK_OBJECTS,
        signal: stopping.signal,
        onProgress: (progress) => {
          imported = done + progress.objects;
          setDone(imported);
          // No call is under way now.
          if (isStopped && imported < objects.size) stopping.abort();
        },
      });
    } catch (error) {
      if (!stopping.signal.aborted) {
        await onDone();
        throw error;
      }
    } finally {
      stop.current = null;
      setState('idle');
    }
    return imported;
  };
  return { send, done, state };
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
