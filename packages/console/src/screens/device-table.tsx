import { Text } from '@mantine/core';
import type { ListedClient } from '@tidemark/protocol';
import { BehindCount } from '../components/behind-count.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { appOf, nameOf, systemOf } from '../components/device-facts.ts';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { StateBadge } from '../components/state-badge.tsx';

const USER: Column<ListedClient> = {
  title: 'User',
  cell: ({ user_id }) => <NameLink kind="user" name={user_id} isBrief />,
};

const COLUMNS: readonly Column<ListedClient>[] = [
  { title: 'Runs on', cell: (device) => <Told text={systemOf(device)} /> },
  { title: 'App', cell: (device) => <Told text={appOf(device)} /> },
  { title: 'Last contact', cell: (device) => <Contact device={device} /> },
  {
    title: 'Behind',
    cell: ({ behind }) => <BehindCount count={behind} unknown="Nothing is known yet: the device has not pulled." />,
    isNumber: true,
  },
];

interface DeviceTableProps {
  readonly devices: readonly ListedClient[];
  /** True: all devices are of one user, who need not be named. */
  readonly isOfOneUser?: boolean;
}

export function DeviceTable({ devices, isOfOneUser = false }: DeviceTableProps) {
  const columns = [{ title: 'Device', cell: Name }, ...(isOfOneUser ? [] : [USER]), ...COLUMNS];
  return <DataTable label="Devices" rows={devices} keyOf={({ client_id }) => client_id} columns={columns} />;
}

/** The name of a device, with its id below it. Without a name, other columns say what it is, and the id stands alone. */
function Name(device: ListedClient) {
  const name = nameOf(device);
  if (name === null)
    return (
      <span className="device-name small">
        <NameLink kind="device" name={device.client_id} />
      </span>
    );
  return (
    <div className="device-name">
      <NameLink kind="device" name={device.client_id} text={name} hint={`${name} · ${device.client_id}`} />
      <Text size="xs" c="dimmed" truncate>
        {device.client_id}
      </Text>
    </div>
  );
}

function Told({ text }: { readonly text: string }) {
  return (
    <span className={text === 'not told' ? 'untold' : 'told'} title={text}>
      {text}
    </span>
  );
}

function Contact({ device: { online, last_contact, wipe } }: { readonly device: ListedClient }) {
  if (wipe !== 'none')
    return (
      <StateBadge tone={wipe === 'ordered' ? 'warn' : 'plain'}>
        {wipe === 'ordered' ? 'to be wiped' : 'wiped'}
      </StateBadge>
    );
  return online ? <StateBadge tone="good">online</StateBadge> : <Moment at={last_contact} />;
}
