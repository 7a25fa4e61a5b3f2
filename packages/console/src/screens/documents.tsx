import { Button, Group, Stack, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { SourceDocumentOwner } from '@tidemark/backend';
import { type JsonValue, parseJson } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { ActionForm } from '../components/action.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Loaded } from '../components/loaded.tsx';

type Content = Readonly<Record<string, Readonly<Record<string, JsonValue>>>> | string;

interface DocumentsProps {
  readonly owner: SourceDocumentOwner;
  /** The name of the document that is open; null: none is. */
  readonly open: string | null;
  readonly onOpen: (name: string | null) => void;
}

/** Documents that are stored with the data and not synchronised: texts, or objects. */
export function Documents({ owner, open, onOpen }: DocumentsProps) {
  const [isNew, setNew] = useState(false);
  const isAdmin = useIsAdmin();
  const query = useQuery({ queryKey: ['documents', owner], queryFn: () => client.documents.names(owner) });
  const columns: readonly Column<string>[] = [
    {
      title: 'Document',
      cell: (name) => (
        <button type="button" className="name plain" onClick={() => onOpen(name)}>
          {name}
        </button>
      ),
    },
  ];
  return (
    <Stack gap="xs">
      <Loaded query={query}>
        {(all) => {
          const names = all.filter((name) => name !== 'md');
          if (names.length === 0)
            return (
              <Text size="sm" c="dimmed" className="card">
                None. Documents hold what belongs to the data and is not synchronised, such as settings.
              </Text>
            );
          return <DataTable label="Documents" rows={names} keyOf={(name) => name} columns={columns} />;
        }}
      </Loaded>
      {isAdmin && (
        <Group>
          <Button size="xs" variant="default" onClick={() => setNew(true)}>
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

interface OpenedProps {
  readonly owner: SourceDocumentOwner;
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
  const [text, setText] = useState(typeof content === 'string' ? content : JSON.stringify(content, null, 2));
  return (
    <ActionForm
      verb="Save document"
      call={(api) => api.documents.write(owner, name, contentOf(text))}
      isDisabled={name === ''}
      onClose={onClose}
    >
      {given === '' && <TextField label="Name" value={name} onText={setName} data-autofocus />}
      <Textarea
        label="Content"
        description="Text, or JSON: objects by id."
        className="code"
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
        rows={14}
        spellCheck={false}
      />
    </ActionForm>
  );
}

/** JSON of objects is stored as objects, anything else as a text. */
function contentOf(text: string): Content {
  if (!/^\s*\{/.test(text)) return text;
  try {
    return parseJson(text) as Content;
  } catch {
    return text;
  }
}
