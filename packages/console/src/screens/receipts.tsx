import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { Receipt } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Gauge } from '../components/gauge.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts } from '../components/page.tsx';
import { DeviceLink } from './device-link.tsx';

const REFRESH_MS = 5_000;
const DEVICES_SHOWN = 50;

const COLUMNS: readonly Column<Receipt['behind_devices'][number]>[] = [
  { title: 'Device', cell: ({ client_id }) => <DeviceLink id={client_id} hasId /> },
  { title: 'User', cell: ({ user_id }) => <NameLink kind="user" name={user_id} /> },
  { title: 'Missing', cell: ({ missing }) => missing.toLocaleString('en'), isNumber: true },
  { title: 'Last contact', cell: ({ last_contact }) => <Moment at={last_contact} /> },
];

/** How many files have not arrived, which leads to them and the devices that have them. */
function MissingFiles({ source, count }: { readonly source: string; readonly count: number }) {
  if (count === 0) return 'all have arrived';
  const search = { show: 'missing', source };
  return (
    <Link className="name" {...({ to: '/files', search } as { readonly to: string })}>
      {counted(count, 'file')} {count === 1 ? 'has' : 'have'} not arrived
    </Link>
  );
}

/** Which devices have acknowledged the newest push of a source, and which have not. */
export function Receipts({ source }: { readonly source: string }) {
  const query = useQuery({
    queryKey: ['receipts', source, 'devices'],
    queryFn: () => client.sources.receipts(source, { limit: DEVICES_SHOWN }),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {({ seq, devices, delivered, behind, never_synced, behind_devices, files_missing }) => (
        <>
          <Facts
            isDense
            facts={[
              ['Newest seq', seq.toLocaleString('en')],
              ['Devices that have it', <Gauge key="gauge" part={delivered} whole={devices} />],
              ['Behind', behind.toLocaleString('en')],
              ['Never synced', never_synced.toLocaleString('en')],
              ['Files', <MissingFiles key="files" source={source} count={files_missing} />],
            ]}
          />
          {behind_devices.length > 0 && (
            <DataTable
              label="Devices behind"
              rows={behind_devices}
              keyOf={({ client_id }) => client_id}
              columns={COLUMNS}
            />
          )}
          {behind > behind_devices.length && (
            <Text size="sm" c="dimmed">
              The {DEVICES_SHOWN} that are furthest behind are listed.
            </Text>
          )}
        </>
      )}
    </Loaded>
  );
}
