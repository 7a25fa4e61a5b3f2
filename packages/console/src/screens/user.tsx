import { Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
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
import { PingUser } from './ping-user.tsx';
import { SimulateButton } from './simulate-button.tsx';

const DEVICES: readonly Column<string>[] = [
  {
    title: 'Device',
    cell: (id) => <NameLink kind="device" name={id} />,
  },
];

export function User() {
  const { login } = useParams({ strict: false }) as { readonly login: string };
  const user = useQuery({ queryKey: ['users', 'one', login], queryFn: () => client.users.get(login) });
  const devices = useQuery({ queryKey: ['devices of', login], queryFn: () => client.users.clients(login) });
  const isAdmin = useIsAdmin();
  const actions = isAdmin && user.data !== undefined && (
    <>
      <SimulateButton login={login} />
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
      <Section title="Devices">
        <Loaded query={devices}>
          {(ids) =>
            ids.length === 0 ? (
              <Empty title="No devices yet" cli={`tidemark --url ${SERVER_URL} device login ${quoted(login)}`}>
                A device appears here when it logs in for the first time. This command runs one for a try.
              </Empty>
            ) : (
              <DataTable label="Devices" rows={ids} keyOf={(id) => id} columns={DEVICES} />
            )
          }
        </Loaded>
      </Section>
    </Page>
  );
}

function SetPassword({ login }: { readonly login: string }) {
  const [password, setPassword] = useState('');
  return (
    <Action
      label="Password"
      title="Set the password"
      verb="Set password"
      button={{ variant: 'default' }}
      call={(api) => api.users.update(login, { password })}
      isDisabled={password === ''}
      onDone={() => setPassword('')}
    >
      <NewPasswordField
        label="New password"
        description="All devices of the user must log in again."
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
      label="Attribute"
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
