import { Anchor, Button, Group, Stack, Text, Title } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
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
/** Opens in a tab of its own: the device ends with this page. */
const SAMPLE_DATA = { to: '/data', search: { source: SAMPLE_SOURCE, user: SAMPLE_USER } as never };
const ORDER = { '1': { title: 'The first Order' } };

const STEPS = [
  {
    title: '1. Log in',
    about: 'The calls below send the token that this one gets. A token of the screen Tokens does as well.',
    curl: `TOKEN=$(curl -s ${SERVER_URL}/rc/v1/system/login \\
  -H 'Content-Type: application/json' \\
  -d '{"login":"admin","password":"your password"}')`,
  },
  {
    title: '2. Declare a source',
    about: 'A source is a kind of data, such as Order, that devices keep in sync.',
    curl: curlOf((api) => api.sources.declare({ name: 'Order', partition_type: 'user' })),
  },
  {
    title: '3. Create a user',
    about: 'Devices sign in as users.',
    curl: sampleCurl((api) => api.users.create({ login: 'ada', password: 'lovelace-1815' })),
  },
  {
    title: '4. Push objects',
    about: 'A backend pushes objects, and the devices of the user get them.',
    curl: pushCurl('Order', { user_id: 'ada', objects: ORDER }),
  },
] as const;

/** The first steps on an empty server: a sample that shows all of them at once, and the calls with which an app begins. */
export function FirstRun() {
  const [isMade, setMade] = useState(false);
  return (
    <div className="card">
      <Stack gap="md">
        <Title order={2} size="h4">
          First steps
        </Title>
        <Sample isMade={isMade} onMade={() => setMade(true)} />
        {isMade && <LazySimulatedDevice login={SAMPLE_USER} />}
        <Stack gap={6}>
          <Title order={3} size="h5">
            With your own data
          </Title>
          <Text size="sm" c="dimmed" className="long">
            Four calls in a shell, as a backend makes them.
          </Text>
        </Stack>
        {STEPS.map(({ title, about, curl }) => (
          <Stack key={title} gap={6}>
            <Text fw={600}>{title}</Text>
            <Text size="sm" c="dimmed">
              {about}
            </Text>
            <Command label={title} text={curl} />
          </Stack>
        ))}
      </Stack>
    </div>
  );
}

interface SampleProps {
  readonly isMade: boolean;
  readonly onMade: () => void;
}

/** Makes a sample source and a sample user, and pushes objects to a device of the user. */
function Sample({ isMade, onMade }: SampleProps) {
  const cache = useQueryClient();
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setError(null);
    try {
      await client.sources.declare({ name: SAMPLE_SOURCE, partition_type: 'user' });
      await client.users.create({ login: SAMPLE_USER, password: randomPassword() });
      await client.push.objects(SAMPLE_SOURCE, SAMPLE_OBJECTS, { user: SAMPLE_USER });
      onMade();
      // Everything on the screen counts what was made.
      await cache.invalidateQueries({ predicate: ({ queryKey }) => queryKey[0] !== 'session' });
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  if (isMade) {
    return (
      <Text size="sm" className="long">
        Made: the source <NameLink kind="source" name={SAMPLE_SOURCE} />, the user{' '}
        <NameLink kind="user" name={SAMPLE_USER} />, and a device in this page. It got three objects; change one in{' '}
        <Anchor component={Link} {...SAMPLE_DATA} target="_blank" size="sm">
          Data
        </Anchor>
        , which opens beside this page, and see it arrive here.
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      <Text size="sm" c="dimmed" className="long">
        This server is empty. A sample shows in a few seconds what it does: a source, a user, and a device in this page
        that gets objects.
      </Text>
      {error !== null && <Failure error={error} />}
      <Group gap="sm">
        <Button onClick={run} loading={isBusy}>
          Make a sample
        </Button>
      </Group>
    </Stack>
  );
}

function randomPassword(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(12)), (byte) => byte.toString(36)).join('-');
}
