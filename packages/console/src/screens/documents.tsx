import { Button, Group, NativeSelect, Stack, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { DocumentOwner } from '@tidemark/backend';
import { type JsonValue, parseJson } from '@tidemark/protocol';
import { useDeferredValue, useMemo, useState } from 'react';
import { client } from '../api/client.ts';
import { documentNames } from '../api/documents.ts';
import { useIsAdmin } from '../api/session.ts';
import { ActionForm } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Loaded } from '../components/loaded.tsx';

type DocumentType = 'text' | 'objects';
type Content = Readonly<Record<string, Readonly<Record<string, JsonValue>>>> | string;

interface DocumentsProps {
  readonly owner: DocumentOwner;
  /** The name of the document that is open; null: none is. */
  readonly open: string | null;
  readonly onOpen: (name: string | null) => void;
}

/** Names shown at first, and added by the button below them. */
const PAGE_NAMES = 100;
/** With fewer names, looking is faster than typing. */
const FILTERED_NAMES_MIN = 20;

/** Documents that are stored with the data and not synchronised: texts, or objects. */
export function Documents({ owner, open, onOpen }: DocumentsProps) {
  const [isNew, setNew] = useState(false);
  const isAdmin = useIsAdmin();
  const query = useQuery(documentNames(owner));
  return (
    <Stack gap="xs">
      <Loaded query={query}>
        {(names) =>
          names.length === 0 ? (
            <Text size="sm" c="dimmed" className="card">
              No documents yet. A document is a text, or objects, that the server stores and does not synchronise, such
              as settings.
            </Text>
          ) : (
            <DocumentNames names={names} onOpen={onOpen} />
          )
        }
      </Loaded>
      {isAdmin && (
        <Group>
          <Button size="xs" variant="default" aria-haspopup="dialog" onClick={() => setNew(true)}>
            New document
          </Button>
        </Group>
      )}
      <Dialog title="New document" isOpen={isNew} onClose={() => setNew(false)} size="xl">
        <Write owner={owner} name="" content="" onClose={() => setNew(false)} />
      </Dialog>
      <Dialog title={`Document ${open ?? ''}`} isOpen={open !== null} onClose={() => onOpen(null)} size="xl">
        {open !== null && <Opened owner={owner} name={open} onClose={() => onOpen(null)} />}
      </Dialog>
    </Stack>
  );
}

interface DocumentNamesProps {
  readonly names: readonly string[];
  readonly onOpen: (name: string) => void;
}

/** Names of documents, the first of them at first: the server answers all names at once, however many there are. */
function DocumentNames({ names, onOpen }: DocumentNamesProps) {
  const [typed, setTyped] = useState('');
  const [shownMax, setShownMax] = useState(PAGE_NAMES);
  const text = useDeferredValue(typed).toLowerCase();
  const found = useMemo(
    () => (text === '' ? names : names.filter((name) => name.toLowerCase().includes(text))),
    [names, text],
  );
  const shown = found.slice(0, shownMax);
  const columns: readonly Column<string>[] = [
    {
      title: 'Document',
      cell: (name) => (
        <button type="button" className="name plain link" aria-haspopup="dialog" onClick={() => onOpen(name)}>
          {name}
        </button>
      ),
    },
  ];
  return (
    <Stack gap="xs">
      {names.length >= FILTERED_NAMES_MIN && (
        <TextField
          label="Find a document by a part of its name"
          type="search"
          maw={360}
          value={typed}
          onText={(changed) => {
            setTyped(changed);
            setShownMax(PAGE_NAMES);
          }}
        />
      )}
      {names.length >= FILTERED_NAMES_MIN && (
        <Text size="sm" c="dimmed" role="status">
          {text === '' ? counted(names.length, 'document') : `${counted(found.length, 'document')} found`}
          {shown.length < found.length && `; the first ${shown.length.toLocaleString('en')} are shown`}.
        </Text>
      )}
      {shown.length > 0 && <DataTable label="Documents" rows={shown} keyOf={(name) => name} columns={columns} />}
      {shown.length < found.length && (
        <Group>
          <Button size="xs" variant="default" onClick={() => setShownMax(shownMax + PAGE_NAMES)}>
            Show more documents
          </Button>
        </Group>
      )}
    </Stack>
  );
}

interface OpenedProps {
  readonly owner: DocumentOwner;
  readonly name: string;
  readonly onClose: () => void;
}

function Opened({ owner, name, onClose }: OpenedProps) {
  const isAdmin = useIsAdmin();
  const query = useQuery({
    queryKey: ['documents', owner, name],
    queryFn: async () => (await client.documents.read(owner, name)) as Content,
  });
  return (
    <Loaded query={query}>
      {(content) =>
        isAdmin ? (
          <Write owner={owner} name={name} content={content} onClose={onClose} />
        ) : (
          <JsonView label="Content" value={content} />
        )
      }
    </Loaded>
  );
}

function Write({ owner, name: given, content, onClose }: OpenedProps & { readonly content: Content }) {
  const [name, setName] = useState(given);
  const [type, setType] = useState<DocumentType>(typeof content === 'string' ? 'text' : 'objects');
  const [text, setText] = useState(typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  const parsed = type === 'text' ? text : objectsIn(text);
  return (
    <ActionForm
      verb="Save document"
      call={(api) => api.documents.write(owner, name, parsed ?? {})}
      isDisabled={name === '' || parsed === null}
      onClose={onClose}
    >
      <Stack gap="sm">
        {given === '' && <TextField label="Name" value={name} onText={setName} data-autofocus />}
        <NativeSelect
          label="Stored as"
          value={type}
          onChange={(event) => setType(event.currentTarget.value as DocumentType)}
          data={[
            { value: 'text', label: 'a text' },
            { value: 'objects', label: 'objects by id, in JSON' },
          ]}
        />
        <Textarea
          label="Content"
          className="code"
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          error={parsed === null && 'This is not JSON of objects by id, such as {"1": {"name": "Compass"}}.'}
          rows={14}
          spellCheck={false}
        />
      </Stack>
    </ActionForm>
  );
}

/** Null: the text is not a JSON object. The server checks what is in it. */
function objectsIn(text: string): Exclude<Content, string> | null {
  try {
    const value = parseJson(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Exclude<Content, string>)
      : null;
  } catch {
    return null;
  }
}
