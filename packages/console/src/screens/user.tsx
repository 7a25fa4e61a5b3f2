import { Group, Stack, Text, Textarea } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Client, UserGroups } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { quoted } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { NewPasswordField, TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { appOf } from './device-facts.ts';
import { InviteDevice } from './invite-device.tsx';
import { PingUser } from './ping-user.tsx';
import { SimulateButton } from './simulate-button.tsx';

/** Devices that are shown with what is known of them; of the others only the ids. */
const DEVICES_READ_MAX = 50;

interface DeviceRow {
  readonly id: string;
  /** Undefined: it is being loaded, or not read. */
  readonly device: Client | undefined;
}

const DEVICES: readonly Column<DeviceRow>[] = [
  { title: 'Device', cell: ({ id }) => <NameLink kind="device" name={id} /> },
  { title: 'Type', cell: ({ device }) => device?.device_type ?? '–' },
  { title: 'App', cell: ({ device }) => (device === undefined ? '–' : appOf(device)) },
  {
    title: 'Last sync',
    cell: ({ device }) => (device === undefined ? '–' : <Moment at={device.last_sync} />),
  },
];

export function User() {
  const { login } = useParams({ strict: false }) as { readonly login: string };
  const user = useQuery({ queryKey: ['users', 'one', login], queryFn: () => client.users.get(login) });
  const devices = useQuery({ queryKey: ['devices of', login], queryFn: () => client.users.clients(login) });
  const groups = useQuery({ queryKey: ['groups of', login], queryFn: () => client.groups.of(login) });
  const isAdmin = useIsAdmin();
  const actions = isAdmin && user.data !== undefined && (
    <>
      <SimulateButton login={login} />
      <InviteDevice login={login} />
      <PingUser login={login} />
      <SetPassword login={login} />
      <SetAttribute login={login} />
      <DeleteUser login={login} />
    </>
  );
  return (
    <Page title={login} parent={{ title: 'Users', to: '/users' }} actions={actions}>
      <Loaded query={user}>
        {({ attributes, created_at, updated_at }) => (
          <Facts
            facts={[
              ['Created', <Moment key="created" at={created_at} />],
              ['Changed', <Moment key="changed" at={updated_at} />],
              ...Object.entries(attributes).map(
                ([name, value]) => [name, <code key={name}>{JSON.stringify(value)}</code>] as const,
              ),
            ]}
          />
        )}
      </Loaded>
      <Section
        title="Groups"
        actions={
          isAdmin && groups.data !== undefined && <SetGroups key={groups.data.groups.join('\n')} groups={groups.data} />
        }
      >
        <Loaded query={groups}>{({ groups: names }) => <GroupNames names={names} />}</Loaded>
      </Section>
      <Section title="Data">
        <UserData login={login} />
      </Section>
      <Section title="Devices">
        <Loaded query={devices}>
          {(ids) =>
            ids.length === 0 ? (
              <Empty title="No devices yet" cli={`tidemark --url ${SERVER_URL} device login ${quoted(login)}`}>
                A device appears here when it signs in for the first time. This command runs one for a try.
              </Empty>
            ) : (
              <Devices ids={ids} />
            )
          }
        </Loaded>
      </Section>
    </Page>
  );
}

function Devices({ ids }: { readonly ids: readonly string[] }) {
  const results = useQueries({
    queries: ids
      .slice(0, DEVICES_READ_MAX)
      .map((id) => ({ queryKey: ['devices', id], queryFn: () => client.clients.get(id) })),
  });
  const rows = ids.map((id, index) => ({ id, device: results[index]?.data }));
  return <DataTable label="Devices" rows={rows} keyOf={({ id }) => id} columns={DEVICES} />;
}

/** Leads to the objects of the user. */
function UserData({ login }: { readonly login: string }) {
  const query = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  return (
    <Loaded query={query}>
      {(sources) => {
        const own = sources.filter(({ partition_type }) => partition_type === 'user');
        return (
          <Group className="card" gap="md">
            {own.map(({ name }) => (
              <Link
                key={name}
                className="name"
                {...({ to: '/data', search: { source: name, user: login } } as { readonly to: string })}
              >
                {name}
              </Link>
            ))}
            {own.length === 0 && (
              <Text size="sm" c="dimmed">
                No source has data of single users.
              </Text>
            )}
          </Group>
        );
      }}
    </Loaded>
  );
}

function GroupNames({ names }: { readonly names: readonly string[] }) {
  if (names.length === 0) {
    return (
      <Text size="sm" c="dimmed" className="card">
        The user is in no group.
      </Text>
    );
  }
  return (
    <Group className="card" gap="md">
      {names.map((name) => (
        <NameLink key={name} kind="group" name={name} />
      ))}
    </Group>
  );
}

function SetGroups({ groups: { user_id, groups } }: { readonly groups: UserGroups }) {
  const [typed, setTyped] = useState(groups.join('\n'));
  const names = [...new Set(typed.split('\n').map((line) => line.trim()))].filter((name) => name !== '');
  return (
    <Action
      label="Set groups"
      title="Set the groups"
      verb="Set groups"
      button={{ variant: 'default', size: 'compact-sm' }}
      call={(api) => api.groups.set(user_id, names)}
    >
      <Textarea
        label="Groups"
        description="One name in each line. Devices get the objects of new groups and remove those of former ones."
        value={typed}
        onChange={(event) => setTyped(event.currentTarget.value)}
        autosize
        minRows={3}
        data-autofocus
      />
    </Action>
  );
}

function SetPassword({ login }: { readonly login: string }) {
  const [password, setPassword] = useState('');
  return (
    <Action
      label="Set password"
      title="Set the password"
      verb="Set password"
      button={{ variant: 'default' }}
      call={(api) => api.users.update(login, { password })}
      isDisabled={password === ''}
      onDone={() => setPassword('')}
    >
      <NewPasswordField
        label="New password"
        description="All devices of the user must sign in again."
        value={password}
        onText={setPassword}
        data-autofocus
      />
    </Action>
  );
}

function SetAttribute({ login }: { readonly login: string }) {
  const [name, setName] = useState('');
  const [value, setValue] = useState('');
  return (
    <Action
      label="Set attribute"
      title="Set an attribute"
      verb="Set attribute"
      button={{ variant: 'default' }}
      call={(api) => api.users.update(login, { [name]: value })}
      isDisabled={name === ''}
      onDone={() => {
        setName('');
        setValue('');
      }}
    >
      <Stack gap="md">
        <TextField label="Name" value={name} onText={setName} placeholder="team" data-autofocus />
        <TextField label="Value" value={value} onText={setValue} placeholder="north" />
      </Stack>
    </Action>
  );
}

function DeleteUser({ login }: { readonly login: string }) {
  const navigate = useNavigate();
  return (
    <Action
      label="Delete"
      title="Delete user"
      verb="Delete user"
      button={{ variant: 'light', color: 'red' }}
      typedName={login}
      call={(api) => api.users.delete(login)}
      onDone={() => navigate({ to: '/users' })}
    >
      The user, all devices, documents and tokens of the user are deleted. This cannot be undone.
    </Action>
  );
}
