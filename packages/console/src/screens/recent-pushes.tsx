import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ActivityEvent } from '@tidemark/protocol';
import { useActivity } from '../api/activity.ts';
import { client } from '../api/client.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Gauge } from '../components/gauge.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';

type Push = Extract<ActivityEvent, { readonly kind: 'push' }>;

const PUSHES_SHOWN = 10;
const REFRESH_MS = 3_000;

/** The pushes that arrive while the screen is open, each with the devices that have acknowledged it. */
export function RecentPushes({ source }: { readonly source: string }) {
  const { lines, state } = useActivity({ source, kinds: ['push'], recent: 0 });
  const pushes = lines.flatMap(({ key, event }) => (event.kind === 'push' ? [{ key, event }] : []));
  if (pushes.length === 0) {
    return (
      <Text size="sm" c="dimmed" className="card" role="status">
        {state === 'live' ? 'No push yet. Each push is shown with the devices that have received it.' : 'Connecting …'}
      </Text>
    );
  }
  return (
    <DataTable
      label="Pushes"
      rows={pushes.slice(0, PUSHES_SHOWN)}
      keyOf={({ key }) => String(key)}
      columns={columnsOf(source)}
    />
  );
}

function columnsOf(source: string): readonly Column<{ readonly key: number; readonly event: Push }>[] {
  return [
    { title: 'When', cell: ({ event }) => <Moment at={event.at} /> },
    { title: 'Changed', cell: ({ event }) => event.changed.toLocaleString('en'), isNumber: true },
    { title: 'Seq', cell: ({ event }) => event.seq.toLocaleString('en'), isNumber: true },
    {
      title: 'User',
      cell: ({ event: { user_id } }) => (user_id === null ? 'all' : <NameLink kind="user" name={user_id} />),
    },
    { title: 'Devices that have it', cell: ({ event }) => <Delivered source={source} push={event} /> },
  ];
}

function Delivered({ source, push: { seq, user_id } }: { readonly source: string; readonly push: Push }) {
  const { data } = useQuery({
    queryKey: ['receipts', source, user_id, seq],
    queryFn: () => client.sources.receipts(source, { seq, limit: 1, ...(user_id === null ? {} : { user: user_id }) }),
    refetchInterval: ({ state }) =>
      state.data !== undefined && state.data.delivered === state.data.devices ? false : REFRESH_MS,
  });
  return data === undefined ? '–' : <Gauge part={data.delivered} whole={data.devices} />;
}
