import { Group, Stack, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Source, UserGroups } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { quoted } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { useScannedPages } from '../api/use-scanned-pages.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { NewPasswordField, TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { DeviceTable } from './device-table.tsx';
import { InviteDevice } from './invite-device.tsx';
import { PingUser } from './ping-user.tsx';
import { SimulateButton } from './simulate-button.tsx';

/** Links to data that are shown. A user may be in many groups. */
const DATA_SHOWN = 50;

/** A part of the data that the devices of the user get. */
interface DataRow {
  readonly source: string;
  /** The group whose data it is; null: the user's own. */
  readonly group: string | null;
}

export function User() {
  const { login } = useParams({ strict: false }) as { readonly login: string };
  const user = useQuery({ queryKey: ['users', 'one', login], queryFn: () => client.users.get(login) });
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
        <UserData login={login} groups={groups.data?.groups ?? []} />
      </Section>
      <Section title="Devices">
        <Devices login={login} />
      </Section>
    </Page>
  );
}

function Devices({ login }: { readonly login: string }) {
  const query = useScannedPages({
    queryKey: ['devices', 'of', login],
    read: (page) => client.clients.list({ user: login, ...page }),
    rowsOf: ({ clients }) => clients,
  });
  return (
    <>
      <Loaded query={query}>
        {({ pages }) => {
          const devices = pages.flatMap(({ rows }) => rows);
          if (devices.length > 0) return <DeviceTable devices={devices} isOfOneUser />;
          return (
            <Empty title="No devices yet" cli={`tidemark --url ${SERVER_URL} device login ${quoted(login)}`}>
              A device appears here when it signs in for the first time. This command runs one for a try.
            </Empty>
          );
        }}
      </Loaded>
      <PagesButton query={query}>More devices</PagesButton>
    </>
  );
}

/** Leads to the objects of the user and of the groups of the user. */
function UserData({ login, groups }: { readonly login: string; readonly groups: readonly string[] }) {
  const query = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  return (
    <Loaded query={query}>
      {(sources) => {
        const rows = dataRows(sources, groups);
        return (
          <Group className="card" gap="md">
            {rows.slice(0, DATA_SHOWN).map(({ source, group }) => (
              <Link
                key={`${source}\n${group}`}
                className="name"
                {...({ to: '/data', search: group === null ? { source, user: login } : { source, group } } as {
                  readonly to: string;
                })}
              >
                {group === null ? source : `${source} of ${group}`}
              </Link>
            ))}
            {rows.length > DATA_SHOWN && (
              <Text size="sm" c="dimmed">
                and {(rows.length - DATA_SHOWN).toLocaleString('en')} more: the groups above lead to their data
              </Text>
            )}
            {rows.length === 0 && (
              <Text size="sm" c="dimmed">
                No source has data of this user or of a group of the user.
              </Text>
            )}
          </Group>
        );
      }}
    </Loaded>
  );
}

function dataRows(sources: readonly Source[], groups: readonly string[]): readonly DataRow[] {
  return sources.flatMap(({ name: source, partition_type }): readonly DataRow[] => {
    if (partition_type === 'user') return [{ source, group: null }];
    return partition_type === 'group' ? groups.map((group) => ({ source, group })) : [];
  });
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
