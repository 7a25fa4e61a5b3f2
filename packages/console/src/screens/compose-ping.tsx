import { NativeSelect, Stack, Switch, Text, Textarea } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { TidemarkClient } from '@tidemark/backend';
import type { PingReport } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { type ApiCall, curlOf, pingPipeline } from '../api/curl.ts';
import { Action } from '../components/action.tsx';
import { TextField } from '../components/fields.tsx';
import { PingSent } from './ping-user.tsx';

/** The server takes at most so many users in one ping. */
const USERS_MAX = 1_000;
const PLATFORMS = ['iOS', 'Android', 'Web'] as const;

/** Writes a ping, with a picture of what people see. */
export function ComposePing() {
  const [isForAll, setForAll] = useState(false);
  const [users, setUsers] = useState('');
  const [source, setSource] = useState('');
  const [message, setMessage] = useState('');
  const [isOnlyBehind, setOnlyBehind] = useState(false);
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const logins = users.split(/[\s,]+/).filter((login) => login !== '');
  const ping = {
    ...(source === '' ? {} : { sources: [source] }),
    ...(message === '' ? {} : { message }),
    ...(isOnlyBehind && source !== '' ? { only_behind: true } : {}),
  };
  const listUsers: ApiCall = (api) => api.users.list({ limit: USERS_MAX });
  const calls = isForAll
    ? {
        call: async (api: TidemarkClient) =>
          api.users.ping({ user_id: await api.users.list({ limit: USERS_MAX }), ...ping }),
        curl: pingPipeline(curlOf(listUsers), { users: '.', ping }),
      }
    : { call: (api: TidemarkClient) => api.users.ping({ user_id: logins, ...ping }) };
  return (
    <Action
      word="new-ping"
      label="New ping"
      title="New ping"
      verb="Send ping"
      {...calls}
      isDisabled={!isForAll && logins.length === 0}
      showAnswer={(answer) => <PingSent report={answer as PingReport} />}
    >
      <Stack gap="md">
        <Switch
          label={`All users (the first ${USERS_MAX.toLocaleString('en')})`}
          checked={isForAll}
          onChange={(event) => setForAll(event.currentTarget.checked)}
        />
        {!isForAll && (
          <TextField label="Users" description="Logins, with spaces in between." value={users} onText={setUsers} />
        )}
        <NativeSelect
          label="Source that the devices should sync"
          value={source}
          onChange={(event) => setSource(event.currentTarget.value)}
          data={[{ value: '', label: 'all sources' }, ...(sources.data ?? []).map(({ name }) => name)]}
        />
        <Switch
          label="Only devices that are behind"
          description="Devices that have acknowledged the newest state are skipped. Needs a source."
          checked={isOnlyBehind && source !== ''}
          disabled={source === ''}
          onChange={(event) => setOnlyBehind(event.currentTarget.checked)}
        />
        <Textarea
          label="Message"
          description="Without a message, devices sync in the background and show nothing."
          value={message}
          onChange={(event) => setMessage(event.currentTarget.value)}
          autosize={false}
          rows={2}
        />
        <Preview message={message} />
      </Stack>
    </Action>
  );
}

function Preview({ message }: { readonly message: string }) {
  return (
    <section className="tiles" aria-label="Preview">
      {PLATFORMS.map((platform) => (
        <div key={platform} className="card preview">
          <Text size="xs" c="dimmed">
            {platform}
          </Text>
          <Text size="sm" className="long">
            {message === '' ? 'Nothing is shown.' : message}
          </Text>
        </div>
      ))}
    </section>
  );
}
