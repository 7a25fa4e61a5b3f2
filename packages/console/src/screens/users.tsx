import { Group, Stack, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import type { UserFilter } from '@tidemark/backend';
import type { ListedUser } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { sampleCurl } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { BehindCount } from '../components/behind-count.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { NewPasswordField, TextField } from '../components/fields.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { type Choices, SearchedList } from '../components/searched-list.tsx';
import { StateBadge } from '../components/state-badge.tsx';

/** Groups that are named in a row; of the others only how many they are. */
const GROUPS_SHOWN = 3;

const CHOICES: Choices<UserFilter> = {
  all: { title: 'All users', filter: {} },
  behind: { title: 'Behind', filter: { behind: true } },
  week: { title: 'Not seen for a week', filter: { notSeenDays: 7 } },
  new: { title: 'Created in the last week', filter: { createdDays: 7 } },
  devices: { title: 'With devices', filter: { hasDevices: true } },
  none: { title: 'Without devices', filter: { hasDevices: false } },
};

const COLUMNS: readonly Column<ListedUser>[] = [
  { title: 'Login', cell: (user) => <Login user={user} /> },
  { title: 'Groups', cell: ({ groups }) => <GroupNames groups={groups} /> },
  { title: 'Devices', cell: ({ devices }) => devices.toLocaleString('en'), isNumber: true },
  {
    title: 'Last seen',
    cell: ({ online, last_seen }) =>
      online > 0 ? <StateBadge tone="good">online</StateBadge> : <Moment at={last_seen} />,
  },
  {
    title: 'Behind',
    cell: ({ behind }) => (
      <BehindCount count={behind} unknown="Nothing is known: no device of this user has pulled yet." />
    ),
    isNumber: true,
  },
  { title: 'Created', cell: ({ created_at }) => <Moment at={created_at} /> },
];

/** All users. */
export function Users() {
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Users"
      about="People whose devices sync with this server, and its administrators."
      actions={isAdmin && <NewUser />}
    >
      <SearchedList
        to="/users"
        one="user"
        placeholder="Login, group or attribute"
        choices={CHOICES}
        read={(filter, page) => client.users.details({ ...filter, ...page })}
        rowsOf={({ users }) => users}
        empty={<NoUsers />}
      >
        {(users) => <DataTable label="Users" rows={users} keyOf={({ login }) => login} columns={COLUMNS} />}
      </SearchedList>
    </Page>
  );
}

function Login({ user: { login, admin } }: { readonly user: ListedUser }) {
  return (
    <Group gap={6} wrap="nowrap">
      <NameLink kind="user" name={login} />
      {admin && <StateBadge tone="plain">admin</StateBadge>}
    </Group>
  );
}

function GroupNames({ groups }: { readonly groups: readonly string[] }) {
  if (groups.length === 0) return '–';
  return (
    <Group gap={8}>
      {groups.slice(0, GROUPS_SHOWN).map((group) => (
        <NameLink key={group} kind="group" name={group} />
      ))}
      {groups.length > GROUPS_SHOWN && (
        <Text size="sm" c="dimmed">
          and {(groups.length - GROUPS_SHOWN).toLocaleString('en')} more
        </Text>
      )}
    </Group>
  );
}

function NoUsers() {
  return (
    <Empty
      title="No users yet"
      curl={sampleCurl((api) => api.users.create({ login: 'ada', password: 'lovelace-1815' }))}
      cli={`tidemark --url ${SERVER_URL} users create ada`}
    >
      Create one with the button above, or with one of these commands.
    </Empty>
  );
}

function NewUser() {
  const [login, setLogin] = useState('');
  const [password, setPassword] = useState('');
  const navigate = useNavigate();
  return (
    <Action
      word="new-user"
      label="New user"
      title="New user"
      verb="Create user"
      call={(api) => api.users.create({ login, password })}
      isDisabled={login === '' || password === ''}
      onDone={() => {
        setLogin('');
        setPassword('');
        return navigate({ to: '/users/$login', params: { login } });
      }}
    >
      <Stack gap="md">
        <TextField
          label="Login"
          description="The id of the user. It cannot change."
          value={login}
          onText={setLogin}
          required
          data-autofocus
        />
        <NewPasswordField
          label="Password"
          description="For logins of devices, unless a backend checks them."
          value={password}
          onText={setPassword}
          required
        />
      </Stack>
    </Action>
  );
}
