import { NativeSelect, Stack, Switch, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Conflicts, SyncType } from '@tidemark/protocol';
import { useId } from 'react';
import { client } from '../api/client.ts';
import { TextField } from '../components/fields.tsx';
import { problemsOf, type SourceForm } from './source-attributes.ts';

const NOTIFY = { false: false, true: true, until_delivered: 'until_delivered' } as const;

const SYNC_TYPES: Readonly<Record<SyncType, string>> = {
  incremental: 'only what has changed',
  bulk_only: 'everything again, as one snapshot',
};

interface SourceFieldsProps {
  readonly form: SourceForm;
  readonly onChange: (changes: Partial<SourceForm>) => void;
}

/** The attributes of a source that can change. */
export function SourceFields({ form, onChange }: SourceFieldsProps) {
  const problems = problemsOf(form);
  return (
    <Stack gap="md">
      <Switch
        label="Devices cannot change the objects"
        checked={form.isReadOnly}
        onChange={(event) => onChange({ isReadOnly: event.currentTarget.checked })}
      />
      <AdapterField form={form} onChange={onChange} />
      <TextField
        label="Seconds between two queries of the backend"
        description="-1: never by itself. 0: at every sync. Empty: 300 with an adapter."
        value={form.poll}
        error={problems.poll}
        onText={(poll) => onChange({ poll })}
        inputMode="numeric"
      />
      <NativeSelect
        label="How devices get the data"
        description="Data of groups always comes as changes."
        value={form.syncType}
        onChange={(event) => onChange({ syncType: event.currentTarget.value as SyncType })}
        data={Object.entries(SYNC_TYPES).map(([value, label]) => ({ value, label }))}
      />
      <NativeSelect
        label="When two devices change the same attribute"
        value={form.conflicts}
        onChange={(event) => onChange({ conflicts: event.currentTarget.value as Conflicts })}
        data={[
          { value: 'last_writer', label: 'the last writer wins' },
          { value: 'detect', label: 'the later one is told of the conflict' },
        ]}
      />
      <NativeSelect
        label="Ping devices whose data a push has changed"
        value={String(form.pushNotify)}
        onChange={(event) => onChange({ pushNotify: NOTIFY[event.currentTarget.value as keyof typeof NOTIFY] })}
        data={[
          { value: 'false', label: 'no' },
          { value: 'true', label: 'once' },
          { value: 'until_delivered', label: 'again and again, until they have the change' },
        ]}
      />
      <Textarea
        label="References to other sources"
        description="A line for each attribute that holds the id of another object: customer_id: Customer"
        value={form.references}
        error={problems.references}
        onChange={(event) => onChange({ references: event.currentTarget.value })}
        autosize
        minRows={2}
        maxRows={8}
      />
      <QueueFields form={form} onChange={onChange} />
    </Stack>
  );
}

/** Offers the adapters that every server has, and those that sources use. The server refuses others. */
function AdapterField({ form, onChange }: SourceFieldsProps) {
  const id = useId();
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const known = new Set(['none', 'backend', ...(sources.data ?? []).map(({ adapter }) => adapter)]);
  return (
    <>
      <TextField
        label="Filled by"
        description="none: pushes only. backend: Tidemark queries your backend. Or the name of a source module."
        value={form.adapter}
        onText={(adapter) => onChange({ adapter })}
        list={id}
      />
      <datalist id={id}>
        {[...known].map((adapter) => (
          <option key={adapter} value={adapter} />
        ))}
      </datalist>
    </>
  );
}

const QUEUES = [
  ['Queue', 'queue', 'Work for this source is done in this queue instead of in the request.'],
  ['Queue of queries', 'queryQueue', 'Only refreshes from the backend.'],
  ['Queue of uploads', 'cudQueue', 'Only what devices have changed.'],
] as const;

function QueueFields({ form, onChange }: SourceFieldsProps) {
  return (
    <>
      {QUEUES.map(([label, name, description]) => (
        <TextField
          key={name}
          label={label}
          description={description}
          placeholder="none"
          value={form[name]}
          onText={(text) => onChange({ [name]: text })}
        />
      ))}
    </>
  );
}
