import { NativeSelect, Space, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import type { PartitionType, Source } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { curlOf } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { attributesOf, NEW_SOURCE, problemsOf } from './source-attributes.ts';
import { SourceFields } from './source-form.tsx';

const COLUMNS: readonly Column<Source>[] = [
  {
    title: 'Name',
    cell: ({ name }) => <NameLink kind="source" name={name} />,
  },
  { title: 'Data belongs to', cell: ({ partition_type }) => ownersOf(partition_type) },
  { title: 'Filled by', cell: ({ adapter }) => (adapter === 'none' ? 'pushes' : adapter) },
  {
    title: 'Objects',
    cell: ({ counts, partition_type }) => counts.objects?.toLocaleString('en') ?? `per ${partition_type}`,
    isNumber: true,
  },
  {
    title: 'Devices',
    cell: ({ read_only }) => (read_only ? <StateBadge tone="plain">read only</StateBadge> : 'may change'),
  },
  { title: 'Changed', cell: ({ updated_at }) => <Moment at={updated_at} /> },
];

/** Says whose the objects of a source are. */
export function ownersOf(type: PartitionType): string {
  return { app: 'all users', user: 'each user', group: 'groups of users' }[type];
}

export function Sources() {
  const query = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Sources"
      about="A source is a kind of data, such as Order, that devices keep in sync."
      actions={isAdmin && <NewSource />}
    >
      <Loaded query={query}>
        {(sources) =>
          sources.length === 0 ? (
            <NoSources />
          ) : (
            <DataTable label="Sources" rows={sources} keyOf={({ name }) => name} columns={COLUMNS} />
          )
        }
      </Loaded>
    </Page>
  );
}

function NoSources() {
  return (
    <Empty
      title="No sources yet"
      curl={curlOf((api) => api.sources.declare({ name: 'Order', partition_type: 'user' }))}
      cli={`tidemark --url ${SERVER_URL} sources declare Order --partition-type user`}
    >
      Declare one with the button above, or with one of these commands.
    </Empty>
  );
}

function NewSource() {
  const [name, setName] = useState('');
  const [type, setType] = useState<PartitionType>('user');
  const [form, setForm] = useState(NEW_SOURCE);
  const navigate = useNavigate();
  return (
    <Action
      word="new-source"
      label="New source"
      title="New source"
      verb="Create source"
      call={(api) => api.sources.declare({ name, partition_type: type, ...attributesOf(form) })}
      isDisabled={name === '' || Object.keys(problemsOf(form)).length > 0}
      onDone={() => {
        setName('');
        setForm(NEW_SOURCE);
        return navigate({ to: '/sources/$name', params: { name } });
      }}
    >
      <Stack gap="md">
        <TextField
          label="Name"
          description="Devices and backends use this name. It cannot change."
          value={name}
          onText={setName}
          placeholder="Order"
          required
          data-autofocus
        />
        <NativeSelect
          label="Data belongs to"
          description="It cannot change later."
          value={type}
          onChange={(event) => setType(event.currentTarget.value as PartitionType)}
          data={[
            { value: 'user', label: 'each user: everybody has objects of their own' },
            { value: 'app', label: 'all users: everybody has the same objects' },
            { value: 'group', label: 'groups: the members of a group have the same objects' },
          ]}
        />
        <details>
          <summary>More attributes</summary>
          <Space h="sm" />
          <SourceFields form={form} onChange={(changes) => setForm({ ...form, ...changes })} />
        </details>
      </Stack>
    </Action>
  );
}
