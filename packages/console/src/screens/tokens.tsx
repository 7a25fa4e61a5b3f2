import { Alert, Checkbox, Group, Stack } from '@mantine/core';
import type { TokenFilter, TokenRequest } from '@tidemark/backend';
import type { NewToken as NewTokenAnswer, Token } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { Action } from '../components/action.tsx';
import { Command, Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { type Choices, SearchedList } from '../components/searched-list.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { DeviceLink } from './device-link.tsx';

/** Every sign-in makes a token. They would bury those that programs depend on. */
const CHOICES: Choices<TokenFilter> = {
  named: { title: 'Named tokens', filter: { kind: 'named' } },
  sessions: { title: 'Sessions of people and devices', filter: { kind: 'session' } },
  all: { title: 'All tokens', filter: {} },
};
const SCOPES = [
  ['push', 'push objects to sources'],
  ['read', 'read everything'],
  ['admin', 'read and change everything'],
] as const;

const COLUMNS: readonly Column<Token>[] = [
  {
    title: 'Name',
    cell: ({ name, client: device }) =>
      device === null ? <span className="name">{name ?? 'login'}</span> : <DeviceLink id={device} hasId />,
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
  return (
    <Page
      title="Tokens"
      about="Who may call the API, and for what. Backends use a named token with the scope push."
      actions={<NewToken />}
    >
      <SearchedList
        to="/tokens"
        one="token"
        placeholder="Name, user, scope or device"
        choices={CHOICES}
        read={(filter, page) => client.tokens.details({ ...filter, ...page })}
        rowsOf={({ tokens }) => tokens}
        empty={<NoTokens />}
      >
        {(tokens) => <DataTable label="Tokens" rows={tokens} keyOf={({ id }) => id} columns={COLUMNS} />}
      </SearchedList>
    </Page>
  );
}

function NoTokens() {
  return (
    <Empty title="No named tokens yet" cli={`tidemark --url ${SERVER_URL} tokens create --name backend --scope push`}>
      A backend needs one to push. Make it with the button above, or with this command.
    </Empty>
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
