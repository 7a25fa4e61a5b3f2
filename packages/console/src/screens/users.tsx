import { Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { UserFilter } from '@tidemark/backend';
import type { ListedUser } from '@tidemark/protocol';
import { useDeferredValue, useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { sampleCurl } from '../api/curl.ts';
import { countWords } from '../api/scanned-pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { useScannedPages } from '../api/use-scanned-pages.ts';
import { Action } from '../components/action.tsx';
import { BehindCount } from '../components/behind-count.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { NewPasswordField, TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { StateBadge } from '../components/state-badge.tsx';

/** Groups that are named in a row; of the others only how many they are. */
const GROUPS_SHOWN = 3;

const SHOWN = {
  all: { title: 'All users', filter: {} },
  behind: { title: 'Behind', filter: { behind: true } },
  week: { title: 'Not seen for a week', filter: { notSeenDays: 7 } },
  new: { title: 'Created in the last week', filter: { createdDays: 7 } },
  devices: { title: 'With devices', filter: { hasDevices: true } },
  none: { title: 'Without devices', filter: { hasDevices: false } },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly filter: UserFilter }>>;

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

interface UserSearch {
  readonly text?: string;
  readonly show?: string;
}

/** All users. What is searched for is part of the address. */
export function Users() {
  const search = useSearch({ strict: false }) as UserSearch;
  const navigate = useNavigate();
  const [typed, setTyped] = useState(search.text ?? '');
  const text = useDeferredValue(typed.trim());
  const shown = Object.hasOwn(SHOWN, search.show ?? '') ? (search.show as keyof typeof SHOWN) : 'all';
  const show = (changes: UserSearch) =>
    void navigate({ to: '/users', search: (before: object) => ({ ...before, ...changes }), replace: true } as never);
  const filter = { ...SHOWN[shown].filter, ...(text === '' ? {} : { text }) };
  const query = useScannedPages({
    queryKey: ['users', 'list', filter],
    read: (page) => client.users.details({ ...filter, ...page }),
    rowsOf: ({ users }) => users,
  });
  const isFiltered = Object.keys(filter).length > 0;
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Users"
      about="People whose devices sync with this server, and its administrators."
      actions={isAdmin && <NewUser />}
    >
      <Group gap="sm" align="end">
        <TextField
          label="Find"
          placeholder="Login, group or attribute"
          value={typed}
          onText={(value) => {
            setTyped(value);
            show({ text: value });
          }}
          w={280}
          type="search"
        />
        <NativeSelect
          label="Show"
          value={shown}
          onChange={(event) => show({ show: event.currentTarget.value === 'all' ? '' : event.currentTarget.value })}
          data={Object.entries(SHOWN).map(([value, { title }]) => ({ value, label: title }))}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const users = pages.flatMap(({ rows }) => rows);
          if (users.length === 0 && pages.at(-1)?.next === null) return <NoUsers isFiltered={isFiltered} />;
          return (
            <>
              <Text size="sm" c="dimmed" role="status">
                {countWords(pages, 'user', isFiltered)}
              </Text>
              {users.length > 0 && (
                <DataTable label="Users" rows={users} keyOf={({ login }) => login} columns={COLUMNS} />
              )}
            </>
          );
        }}
      </Loaded>
      <PagesButton query={query}>{isFiltered ? 'Look on' : 'More users'}</PagesButton>
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

function NoUsers({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No such user">No user is what you look for.</Empty>;
  return (
    <Empty
      title="No users yet"
      curl={sampleCurl((api) => api.users.create({ login: 'ada', password: 'lovelace' }))}
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
