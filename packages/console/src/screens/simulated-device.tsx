import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import type { Device, SyncedObject } from '@tidemark/client';
import { useCallback, useEffect, useState, useSyncExternalStore } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { Failure, Waiting } from '../components/loaded.tsx';
import { NameLink } from '../components/name-link.tsx';
import { StateBadge } from '../components/state-badge.tsx';

const SHOWN_MAX = 50;

/** The invite is used at once. */
const INVITE_S = 60;

/** A device that runs in this page: a real client with its data in memory. It is signed out when it is closed. */
export function SimulatedDevice({ login }: { readonly login: string }) {
  // Another number starts another device.
  const [attempt, setAttempt] = useState(1);
  return <Running key={attempt} login={login} onAgain={() => setAttempt(attempt + 1)} />;
}

function Running({ login, onAgain }: { readonly login: string; readonly onAgain: () => void }) {
  const [device, setDevice] = useState<Device | null>(null);
  const [error, setError] = useState<unknown>(null);
  useEffect(() => {
    let opened: Device | null = null;
    let isOver = false;
    const close = () =>
      opened
        ?.signOut({ discardUploads: true })
        .catch(() => undefined)
        .then(() => opened?.close());
    const open = async () => {
      // The client is only loaded when somebody uses it.
      const { openDevice } = await import('@tidemark/client');
      opened = await openDevice({ url: SERVER_URL, about: { app: 'console', name: 'Simulated device' } });
      // An invite that was handed over to the user stays valid.
      const invite = isOver ? null : await client.users.invite(login, { expiresInS: INVITE_S, keepEarlier: true });
      if (invite !== null) await opened.signIn({ invite: invite.code });
      if (isOver) await close();
      else setDevice(opened);
    };
    open().catch((failure) => {
      if (!isOver) setError(failure);
    });
    return () => {
      isOver = true;
      void close();
    };
  }, [login]);
  if (error !== null) {
    return (
      <Stack gap="sm">
        <Failure error={error} />
        <Group>
          <Button size="compact-sm" variant="default" onClick={onAgain}>
            Try again
          </Button>
        </Group>
      </Stack>
    );
  }
  return device === null ? <Waiting /> : <Screen device={device} />;
}

function Screen({ device }: { readonly device: Device }) {
  const status = useSyncExternalStore(device.status.subscribe, device.status.getSnapshot);
  const [names, setNames] = useState<readonly string[]>([]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list of sources is complete after a sync
  useEffect(() => setNames(device.sourceNames()), [device, status.lastSyncedAtMs]);
  return (
    <Stack gap="md" className="phone" role="region" aria-label="Simulated device">
      <Group gap="sm">
        <StateBadge tone={status.isLive ? 'good' : 'busy'}>{status.isLive ? 'live' : status.mode}</StateBadge>
        <Text size="sm" c="dimmed">
          {status.pendingUploads > 0 ? `${status.pendingUploads} changes wait for upload` : 'in step with the server'}
        </Text>
        {status.clientId !== null && <NameLink kind="device" name={status.clientId} />}
        <Button
          size="compact-xs"
          variant="default"
          onClick={() => (status.isOnline ? device.goOffline() : device.goOnline())}
        >
          {status.isOnline ? 'Go offline' : 'Go online'}
        </Button>
      </Group>
      {status.error !== null && <Alert color="yellow">{status.error.detail}</Alert>}
      {names.map((name) => (
        <Objects key={name} device={device} name={name} />
      ))}
      {names.length === 0 && (
        <Text size="sm" c="dimmed">
          There are no sources for this user yet.
        </Text>
      )}
    </Stack>
  );
}

function Objects({ device, name }: { readonly device: Device; readonly name: string }) {
  const source = device.source(name);
  const objects = useSyncExternalStore(source.subscribe, source.getSnapshot);
  const create = useCallback(() => {
    source.create({ title: `Made on the device at ${new Date().toLocaleTimeString()}` }).catch(() => undefined);
  }, [source]);
  return (
    <div>
      <Group gap="sm" justify="space-between">
        <Text size="sm" fw={600} className="long">
          {name}: {objects.length.toLocaleString('en')} objects
        </Text>
        <Button size="compact-xs" variant="default" onClick={create}>
          Create an object here
        </Button>
      </Group>
      <ul className="arrived" aria-label={`Objects of ${name}`}>
        {objects.slice(0, SHOWN_MAX).map((object) => (
          <li key={object.id} className="long">
            <b>{object.id}</b> {attributesText(object)}
          </li>
        ))}
      </ul>
      {objects.length > SHOWN_MAX && (
        <Text size="xs" c="dimmed">
          The first {SHOWN_MAX} are shown.
        </Text>
      )}
    </div>
  );
}

function attributesText({ attributes }: SyncedObject): string {
  return JSON.stringify(attributes).slice(0, 200);
}
