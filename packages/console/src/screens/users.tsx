import { Stack } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useDeferredValue, useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { sampleCurl } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { NewPasswordField, TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { justBefore } from './just-before.ts';

const PAGE_USERS = 100;
const COLUMNS: readonly Column<string>[] = [
  {
    title: 'Login',
    cell: (login) => <NameLink kind="user" name={login} />,
  },
];

export function Users() {
  const [typed, setTyped] = useState('');
  const start = useDeferredValue(typed);
  const query = useInfiniteQuery({
    queryKey: ['users', start],
    queryFn: ({ pageParam: after }) => client.users.list({ limit: PAGE_USERS, ...(after === null ? {} : { after }) }),
    initialPageParam: justBefore(start),
    getNextPageParam: (page) =>
      page.length < PAGE_USERS || page.at(-1)?.startsWith(start) !== true ? null : page.at(-1),
  });
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Users"
      about="People whose devices sync with this server, and its administrators."
      actions={isAdmin && <NewUser />}
    >
      <TextField label="Find by the beginning of the login" value={typed} onText={setTyped} maw={360} type="search" />
      <Loaded query={query}>
        {({ pages }) => {
          const logins = pages.flat().filter((login) => login.startsWith(start));
          if (logins.length === 0) return <NoUsers start={start} />;
          return <DataTable label="Users" rows={logins} keyOf={(login) => login} columns={COLUMNS} />;
        }}
      </Loaded>
      <PagesButton query={query}>More users</PagesButton>
    </Page>
  );
}

function NoUsers({ start }: { readonly start: string }) {
  if (start !== '') return <Empty title="No such user">No login begins with “{start}”.</Empty>;
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
