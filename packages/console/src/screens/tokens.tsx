import { Alert, Checkbox, Group, Stack } from '@mantine/core';
import type { TokenRequest } from '@tidemark/backend';
import type { NewToken as NewTokenAnswer, Token } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { usePages } from '../api/pages.ts';
import { Action } from '../components/action.tsx';
import { Command } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { StateBadge } from '../components/state-badge.tsx';

const PAGE_TOKENS = 100;
const SCOPES = [
  ['push', 'push objects to sources'],
  ['read', 'read everything'],
  ['admin', 'read and change everything'],
] as const;

const COLUMNS: readonly Column<Token>[] = [
  {
    title: 'Name',
    cell: ({ name, client: device }) =>
      device === null ? <span className="name">{name ?? 'login'}</span> : <NameLink kind="device" name={device} />,
  },
  { title: 'User', cell: ({ user }) => <NameLink kind="user" name={user} /> },
  {
    title: 'Scopes',
    cell: ({ scopes }) => (
      <Group gap={4}>
        {scopes.map((scope) => (
          <StateBadge key={scope} tone={scope.startsWith('admin') ? 'warn' : 'plain'}>
            {scope}
          </StateBadge>
        ))}
      </Group>
    ),
  },
  { title: 'Created', cell: ({ created_at }) => <Moment at={created_at} /> },
  {
    title: 'Ends',
    cell: ({ expires_at }) => (expires_at === null ? 'when revoked' : <Moment at={expires_at} />),
  },
  { title: 'Actions', cell: (token) => <Revoke token={token} /> },
];

export function Tokens() {
  const query = usePages({
    queryKey: ['tokens'],
    limit: PAGE_TOKENS,
    read: (page) => client.tokens.list(page),
    nameOf: ({ id }) => id,
  });
  return (
    <Page
      title="Tokens"
      about="Who may call the API, and for what. Backends use a named token with the scope push."
      actions={<NewToken />}
    >
      <Loaded query={query}>
        {({ pages }) => <DataTable label="Tokens" rows={pages.flat()} keyOf={({ id }) => id} columns={COLUMNS} />}
      </Loaded>
      <PagesButton query={query}>More tokens</PagesButton>
    </Page>
  );
}

function NewToken() {
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState<string[]>(['push']);
  return (
    <Action
      word="new-token"
      label="New token"
      title="New token"
      verb="Create token"
      call={(api) => api.tokens.create({ name, scopes: scopes as TokenRequest['scopes'][number][] })}
      isDisabled={name === '' || scopes.length === 0}
      onDone={() => setName('')}
      isOnce
      showAnswer={(answer) => (
        <Alert color="green" title="Copy the token now: it is never shown again" role="status">
          <Command label="token" text={(answer as NewTokenAnswer).token} />
        </Alert>
      )}
    >
      <Stack gap="md">
        <TextField
          label="Name"
          description="What the token is for."
          value={name}
          onText={setName}
          placeholder="backend"
          data-autofocus
        />
        <Checkbox.Group label="It may" value={scopes} onChange={setScopes}>
          <Stack gap={6} mt={6}>
            {SCOPES.map(([scope, words]) => (
              <Checkbox key={scope} value={scope} label={`${words} (${scope})`} />
            ))}
          </Stack>
        </Checkbox.Group>
      </Stack>
    </Action>
  );
}

function Revoke({ token: { id, name } }: { readonly token: Token }) {
  return (
    <Action
      label="Revoke"
      title="Revoke the token"
      verb="Revoke token"
      button={{ variant: 'light', color: 'red', size: 'compact-sm' }}
      typedName={name ?? id}
      call={(api) => api.tokens.revoke(id)}
    >
      Whoever uses the token is refused at once.
    </Action>
  );
}
