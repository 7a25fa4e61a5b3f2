import { Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { curlOf, pushCurl, sampleCurl } from '../api/curl.ts';
import { Command } from '../components/command.tsx';
import { Failure } from '../components/loaded.tsx';
import { NameLink } from '../components/name-link.tsx';
import { LazySimulatedDevice } from './lazy-simulated-device.tsx';

const SAMPLE_SOURCE = 'Example';
const SAMPLE_USER = 'example';
const SAMPLE_OBJECTS = {
  '1': { title: 'Hello', text: 'This object was pushed by the console.' },
  '2': { title: 'Change me', text: 'The screen Data edits objects. The device gets the change at once.' },
  '3': { title: 'And back', text: 'An object that is created on the device appears in Data.' },
};
const ORDER = { '1': { title: 'The first Order' } };

const STEPS = [
  {
    title: '1. Declare a source',
    about: 'A source is a kind of data, such as Order, that devices keep in sync.',
    curl: curlOf((api) => api.sources.declare({ name: 'Order', partition_type: 'user' })),
  },
  {
    title: '2. Create a user',
    about: 'Devices sign in as users.',
    curl: sampleCurl((api) => api.users.create({ login: 'ada', password: 'lovelace' })),
  },
  {
    title: '3. Push objects',
    about: 'A backend pushes objects, and the devices of the user get them.',
    curl: pushCurl('Order', { user_id: 'ada', objects: ORDER }),
  },
] as const;

/** The first steps on an empty server, and a sample that shows all of them at once. */
export function FirstRun() {
  const [password, setPassword] = useState<string | null>(null);
  return (
    <div className="card">
      <Stack gap="md">
        <Title order={2} size="h4">
          First steps
        </Title>
        <Text size="sm" c="dimmed" className="long">
          This server is empty. Three calls fill it. TOKEN is a token: the screen Tokens makes one, and so does the
          command <code>tidemark --url {SERVER_URL} login</code>.
        </Text>
        {STEPS.map(({ title, about, curl }) => (
          <Stack key={title} gap={6}>
            <Text fw={600}>{title}</Text>
            <Text size="sm" c="dimmed">
              {about}
            </Text>
            <Command label={title} text={curl} />
          </Stack>
        ))}
        <TryIt onReady={setPassword} isStarted={password !== null} />
        {password !== null && <LazySimulatedDevice login={SAMPLE_USER} password={password} />}
      </Stack>
    </div>
  );
}

interface TryItProps {
  readonly onReady: (password: string) => void;
  readonly isStarted: boolean;
}

/** Makes a sample source and a sample user, starts a device, and pushes objects to it. */
function TryIt({ onReady, isStarted }: TryItProps) {
  const cache = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      const password = randomPassword();
      await client.sources.declare({ name: SAMPLE_SOURCE, partition_type: 'user' });
      await client.users.create({ login: SAMPLE_USER, password });
      onReady(password);
      await client.push.objects(SAMPLE_SOURCE, SAMPLE_OBJECTS, { user: SAMPLE_USER });
      await cache.invalidateQueries({ queryKey: ['users'] });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <Stack gap="sm">
      {error !== null && <Failure error={error} />}
      {isStarted ? (
        <Text size="sm">
          Made: the source <NameLink kind="source" name={SAMPLE_SOURCE} />, the user{' '}
          <NameLink kind="user" name={SAMPLE_USER} />, and a device in this page. It got three objects:
        </Text>
      ) : (
        <Group gap="sm">
          <Button onClick={run} loading={isBusy}>
            Make a sample
          </Button>
          <Text size="sm" c="dimmed">
            It makes a source, a user, and a device in this page that shows the objects arriving.
          </Text>
        </Group>
      )}
    </Stack>
  );
}

function randomPassword(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('-');
}
