import { Alert, Button, Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { type Client, DEVICE_TEXT_UNITS_MAX, type Outcome, type SourceSync, type WipeOrder } from '@tidemark/protocol';
import { useState } from 'react';
import { useActivity } from '../api/activity.ts';
import { client } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { appOf, shownNameOf, systemOf, versionsOf } from '../components/device-facts.ts';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { Gauge } from '../components/gauge.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { ActivityLines } from './activity-lines.tsx';
import { DeviceFiles } from './device-files.tsx';
import { type DevicePing, lastPingsOf, PINGS_READ } from './device-pings.ts';
import { Explain, groupOption } from './explain.tsx';
import { PingStatus } from './ping-status.tsx';
import { PingUser } from './ping-user.tsx';
import { SimulateButton } from './simulate-button.tsx';

const REFRESH_MS = 10_000;

export function Device() {
  const { id } = useParams({ strict: false }) as { readonly id: string };
  const device = useQuery({
    queryKey: ['devices', id],
    queryFn: () => client.clients.get(id),
    refetchInterval: REFRESH_MS,
  });
  const sync = useQuery({
    queryKey: ['devices', id, 'sync'],
    queryFn: () => client.clients.sync(id),
    refetchInterval: REFRESH_MS,
  });
  const isAdmin = useIsAdmin();
  const user = device.data?.user_id;
  const actions = isAdmin && user !== undefined && (
    <>
      <SimulateButton login={user} />
      <PingUser login={user} />
      <SetLabel key={device.data?.label ?? ''} id={id} label={device.data?.label ?? null} />
      <SignOutDevice id={id} />
      {device.data?.wipe === null && <WipeDevice id={id} />}
      <DeleteDevice id={id} user={user} />
    </>
  );
  return (
    <Page
      title={device.data === undefined ? id : (shownNameOf(device.data) ?? id)}
      parent={
        user === undefined
          ? { title: 'Users', to: '/users' }
          : { title: user, to: `/users/${encodeURIComponent(user)}` }
      }
      actions={actions}
    >
      {device.data?.wipe != null && <Wipe order={device.data.wipe} />}
      <Loaded query={device}>{(view) => <Facts facts={factsOf(view, sync.data?.online)} isDense />}</Loaded>
      {sync.data !== undefined && user !== undefined && (
        <Section title="Why is an object not there?">
          <Explain device={id} user={user} sources={sync.data.sources} />
        </Section>
      )}
      <Section title="Sources">
        <Loaded query={sync}>
          {({ sources }) => (
            <DataTable
              label="Sources of the device"
              rows={sources}
              keyOf={({ source, group = '' }) => JSON.stringify([source, group])}
              columns={sourceColumns(id, isAdmin)}
            />
          )}
        </Loaded>
      </Section>
      <Uploads outcomes={(sync.data?.sources ?? []).flatMap(({ last_outcomes }) => last_outcomes)} />
      <Section title="Files still only on this device">
        <DeviceFiles id={id} />
      </Section>
      <Section title="Pings">
        <DevicePings id={id} />
      </Section>
      <Section title="Activity">
        <DeviceActivity id={id} />
      </Section>
    </Page>
  );
}

function factsOf(device: Client, isOnline: boolean | undefined) {
  return [
    ['Id', <code key="id">{device.client_id}</code>],
    ['User', <NameLink key="user" kind="user" name={device.user_id} />],
    ['Now', <Online key="now" isOnline={isOnline} />],
    ['Last sync', <Moment key="sync" at={device.last_sync} />],
    ['Registered', <Moment key="made" at={device.created_at} />],
    ['Runs on', systemOf(device)],
    ['App', appOf(device)],
    ['Schemas', versionsOf(device)],
    ['Type', device.device_type ?? 'not told'],
    ['Push address', device.device_pin ?? 'none: pings reach it only while it is connected'],
  ] as const;
}

/** Whether the device listens for changes now. A device that only polls never does. */
function Online({ isOnline }: { readonly isOnline: boolean | undefined }) {
  if (isOnline === undefined) return '–';
  return <StateBadge tone={isOnline ? 'good' : 'plain'}>{isOnline ? 'online' : 'not connected'}</StateBadge>;
}

function sourceColumns(device: string, isAdmin: boolean): readonly Column<SourceSync>[] {
  return [
    { title: 'Source', cell: (sync) => <SourceAndGroup sync={sync} /> },
    { title: 'State', cell: (sync) => <State sync={sync} /> },
    { title: 'Acknowledged', cell: ({ acknowledged, head }) => <Gauge part={acknowledged ?? 0} whole={head} /> },
    { title: 'Changes waiting', cell: (sync) => waitingWords(sync), isNumber: true },
    { title: 'Last pull', cell: ({ last_pull }) => <Moment at={last_pull} /> },
    {
      title: 'Actions',
      cell: ({ source, group, next_page_bytes }) => (
        <Group gap={6}>
          <NextPage device={device} source={source} group={group} bytes={next_page_bytes} />
          {isAdmin && <StartOver device={device} source={source} />}
        </Group>
      ),
    },
  ];
}

function SourceAndGroup({ sync: { source, group } }: { readonly sync: SourceSync }) {
  const name = <NameLink kind="source" name={source} />;
  if (group === undefined) return name;
  return (
    <Group gap={6}>
      {name}
      <span>of</span>
      <NameLink kind="group" name={group} />
    </Group>
  );
}

function State({ sync: { acknowledged, head, error, last_pull } }: { readonly sync: SourceSync }) {
  if (error !== null) return <StateBadge tone="bad">refresh fails</StateBadge>;
  if (last_pull === null) return <StateBadge tone="plain">never pulled</StateBadge>;
  if (acknowledged === null) return <StateBadge tone="warn">starting over</StateBadge>;
  return acknowledged >= head ? (
    <StateBadge tone="good">up to date</StateBadge>
  ) : (
    <StateBadge tone="busy">behind</StateBadge>
  );
}

function waitingWords({ waiting, objects, uploads_waiting }: SourceSync): string {
  const changes = waiting === null ? `all ${objects.toLocaleString('en')}` : waiting.toLocaleString('en');
  return uploads_waiting === 0 ? changes : `${changes}, ${uploads_waiting} uploads`;
}

interface NextPageProps {
  readonly device: string;
  readonly source: string;
  readonly group: string | undefined;
  readonly bytes: number;
}

/** Shows the page that the device gets at its next pull. */
function NextPage({ device, source, group, bytes }: NextPageProps) {
  const [isOpen, setOpen] = useState(false);
  const page = useQuery({
    queryKey: ['devices', device, 'pending', source, group],
    queryFn: () => client.clients.pending(device, source, groupOption(group)),
    enabled: isOpen,
  });
  return (
    <>
      <Button size="compact-sm" variant="default" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Show next page
      </Button>
      <Dialog title={`What the next pull of ${source} brings`} isOpen={isOpen} onClose={() => setOpen(false)} size="xl">
        <Text size="sm" c="dimmed" mb="sm">
          {bytes.toLocaleString('en')} bytes. Nothing is recorded by looking at it.
        </Text>
        <Loaded query={page}>{(value) => <JsonView label="The next page" value={value} />}</Loaded>
      </Dialog>
    </>
  );
}

function StartOver({ device, source }: { readonly device: string; readonly source: string }) {
  return (
    <Action
      label="Start over"
      title={`Start over with ${source}`}
      verb="Start over"
      button={{ variant: 'default', size: 'compact-sm' }}
      // The document cd is what the device has acknowledged. Writing it makes the device start over.
      call={(api) => api.documents.write({ source, client: device }, 'cd', {})}
    >
      At its next pull the device gets the whole source again. What it has not uploaded yet stays on it.
    </Action>
  );
}

const PINGS: readonly Column<DevicePing>[] = [
  { title: 'Ping', cell: ({ ping }) => <NameLink kind="ping" name={ping} /> },
  { title: 'When', cell: ({ result }) => <Moment at={result.at} /> },
  { title: 'Result', cell: ({ result }) => <PingStatus status={result.status} /> },
  { title: 'Answer of the service', cell: ({ result }) => <span className="long">{result.reason ?? '–'}</span> },
];

const OUTCOMES: readonly Column<Outcome>[] = [
  { title: 'Source', cell: ({ source }) => <NameLink kind="source" name={source} /> },
  { title: 'Object', cell: ({ id }) => <span className="name">{id}</span> },
  {
    title: 'Outcome',
    cell: ({ status }) => <StateBadge tone={status === 'applied' ? 'good' : 'bad'}>{status}</StateBadge>,
  },
  { title: 'Reason', cell: ({ error }) => <span className="long">{error?.detail ?? '–'}</span> },
];

function Uploads({ outcomes }: { readonly outcomes: readonly Outcome[] }) {
  return (
    <Section title="Uploads">
      {outcomes.length === 0 ? (
        <Text size="sm" c="dimmed" className="card">
          No upload waits, and the device has acknowledged the outcomes of all others.
        </Text>
      ) : (
        <DataTable label="Uploads" rows={outcomes} keyOf={({ op_id }) => op_id} columns={OUTCOMES} />
      )}
    </Section>
  );
}

function DevicePings({ id }: { readonly id: string }) {
  const query = useQuery({ queryKey: ['devices', id, 'pings'], queryFn: () => lastPingsOf(client.pings, id) });
  return (
    <Loaded query={query}>
      {(results) =>
        results.length === 0 ? (
          <Text size="sm" c="dimmed" className="card">
            None of the last {PINGS_READ} pings went to this device.
          </Text>
        ) : (
          <DataTable label="Pings" rows={results} keyOf={({ ping }) => ping} columns={PINGS} />
        )
      }
    </Loaded>
  );
}

function DeviceActivity({ id }: { readonly id: string }) {
  const feed = useActivity({ client: id });
  return <ActivityLines feed={feed} empty="Pulls, uploads and pings of this device appear here as they happen." />;
}

/** Says how far the order to erase the device has got. */
function Wipe({ order: { ordered_at, ordered_by, confirmed_at, unsent_uploads } }: { readonly order: WipeOrder }) {
  return (
    <Alert color={confirmed_at === null ? 'yellow' : 'green'} title={confirmed_at === null ? 'To be wiped' : 'Wiped'}>
      <Text size="sm" className="long">
        {ordered_by} ordered it <Moment at={ordered_at} />.{' '}
        {confirmed_at === null ? (
          'The device erases its data at its next call, and gets nothing until then.'
        ) : (
          <>
            The device confirmed <Moment at={confirmed_at} /> that its data is erased
            {unsent_uploads === null ? '' : `, with ${unsent_uploads} changes it had not sent`}.
          </>
        )}
      </Text>
    </Alert>
  );
}

function SetLabel({ id, label }: { readonly id: string; readonly label: string | null }) {
  const [typed, setTyped] = useState(label ?? '');
  return (
    <Action
      label="Set label"
      title="Set the label"
      verb="Set label"
      button={{ variant: 'default' }}
      call={(api) => api.clients.setLabel(id, typed === '' ? null : typed)}
    >
      <TextField
        label="Label"
        description="What administrators call the device. Leave it empty to remove it."
        value={typed}
        onText={setTyped}
        maxLength={DEVICE_TEXT_UNITS_MAX}
        data-autofocus
      />
    </Action>
  );
}

/** Ends all sessions of a device. */
function SignOutDevice({ id }: { readonly id: string }) {
  return (
    <Action
      label="Sign out"
      title="Sign the device out"
      verb="Sign out device"
      button={{ variant: 'default' }}
      typedName={id}
      call={(api) => api.clients.endSessions(id)}
    >
      The tokens of the device are revoked. It keeps its data, and syncs again when its user has signed in.
    </Action>
  );
}

function WipeDevice({ id }: { readonly id: string }) {
  return (
    <Action
      label="Wipe"
      title="Wipe device"
      verb="Wipe device"
      button={{ variant: 'light', color: 'red' }}
      typedName={id}
      call={(api) => api.clients.wipe(id)}
    >
      For a lost device: at its next call it erases all its data, with changes it has not sent. This cannot be taken
      back.
    </Action>
  );
}

function DeleteDevice({ id, user }: { readonly id: string; readonly user: string }) {
  const navigate = useNavigate();
  return (
    <Action
      label="Delete"
      title="Delete device"
      verb="Delete device"
      button={{ variant: 'light', color: 'red' }}
      typedName={id}
      call={(api) => api.users.deleteClient(user, id)}
      onDone={() => navigate({ to: '/users/$login', params: { login: user } })}
    >
      The device is signed out and its position is forgotten. Changes it has not uploaded yet stay on it.
    </Action>
  );
}
