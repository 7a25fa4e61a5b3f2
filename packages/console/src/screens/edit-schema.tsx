import { Button, Group, Stack, Textarea } from '@mantine/core';
import type { SchemaProposal, SchemaView } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { Dialog } from '../components/dialog.tsx';
import { Failure } from '../components/loaded.tsx';
import { type ReviewedSchema, ReviewSchema } from './review-schema.tsx';
import { readSchema, type SchemaTexts } from './schema-change.ts';
import { SchemaSupport } from './schema-support.tsx';

interface EditSchemaProps {
  readonly source: string;
  /** Null: the source has no schema yet. */
  readonly view: SchemaView | null;
}

const FIRST_TEXT = '{\n  "properties": {\n    "title": { "type": "string" }\n  }\n}';

/** A button with a dialog that edits a schema as JSON, and shows what it means before it is saved. */
export function EditSchema({ source, view }: EditSchemaProps) {
  const [isOpen, setOpen] = useState(false);
  const label = view === null ? 'Set a schema' : 'Change the schema';
  return (
    <>
      <Button size="sm" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        {label}
      </Button>
      <Dialog title={label} isOpen={isOpen} onClose={() => setOpen(false)} size="xl">
        <Editor source={source} view={view} onClose={() => setOpen(false)} />
      </Dialog>
    </>
  );
}

type EditorProps = EditSchemaProps & { readonly onClose: () => void };

function Editor({ source, view, onClose }: EditorProps) {
  const [texts, setTexts] = useState<SchemaTexts>(() => ({
    schema: view === null ? FIRST_TEXT : JSON.stringify(view.schema, null, 2),
    steps: '',
  }));
  const [problems, setProblems] = useState<Partial<SchemaTexts>>({});
  const [proposal, setProposal] = useState<SchemaProposal | null>(null);
  const [reviewed, setReviewed] = useState<ReviewedSchema | null>(null);
  const { run, error, busy } = useCalls();
  const propose = () =>
    run('propose', async () => {
      const proposed = await client.sources.inferSchema(source);
      setProposal(proposed);
      if (proposed.objects > 0) setTexts({ ...texts, schema: JSON.stringify(proposed.schema, null, 2) });
    });
  const review = () => {
    const { changes, problems: found } = readSchema(texts);
    setProblems(found);
    if (changes === null) return;
    void run('review', async () => setReviewed({ changes, diff: await client.sources.diffSchema(source, changes) }));
  };
  if (reviewed !== null) return <ReviewSchema reviewed={reviewed} onEdit={() => setReviewed(null)} onClose={onClose} />;
  return (
    <Stack gap="md">
      <Group gap="xs">
        <Button size="compact-sm" variant="default" onClick={propose} loading={busy === 'propose'}>
          Propose from the stored objects
        </Button>
      </Group>
      {proposal !== null && <SchemaSupport proposal={proposal} />}
      <JsonField
        label="Schema as JSON"
        description="What the attributes must be: a part of JSON Schema 2020-12."
        value={texts.schema}
        error={problems.schema}
        rows={12}
        onText={(schema) => setTexts({ ...texts, schema })}
      />
      {view !== null && (
        <JsonField
          label={`Steps from version ${view.version} to the new one, as JSON`}
          description='What becomes of attributes, such as [{"step": "rename", "attribute": "title", "to": "name"}]. Empty: there are none.'
          value={texts.steps}
          error={problems.steps}
          rows={5}
          onText={(steps) => setTexts({ ...texts, steps })}
        />
      )}
      {error !== null && <Failure error={error} hasPointers />}
      <Group justify="flex-end" gap="xs">
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button onClick={review} loading={busy === 'review'}>
          Review
        </Button>
      </Group>
    </Stack>
  );
}

interface JsonFieldProps {
  readonly label: string;
  readonly description: string;
  readonly value: string;
  readonly error: string | undefined;
  readonly rows: number;
  readonly onText: (text: string) => void;
}

function JsonField({ onText, ...props }: JsonFieldProps) {
  return (
    <Textarea
      {...props}
      className="code"
      spellCheck={false}
      autoComplete="off"
      onChange={(event) => onText(event.currentTarget.value)}
    />
  );
}

/** Runs one call at a time, and keeps the error of the last one. */
function useCalls() {
  const [error, setError] = useState<unknown>(null);
  const [busy, setBusy] = useState<'propose' | 'review' | null>(null);
  const run = async (name: 'propose' | 'review', call: () => Promise<void>) => {
    if (busy !== null) return;
    setBusy(name);
    setError(null);
    try {
      await call();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(null);
    }
  };
  return { run, error, busy };
}
