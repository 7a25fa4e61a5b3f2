import { Badge } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Client, DeviceCursor } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { PingUser } from './ping-user.tsx';

type SourceCursor = readonly [source: string, cursor: DeviceCursor];

const COLUMNS: readonly Column<SourceCursor>[] = [
  {
    title: 'Source',
    cell: ([name]) => (
      <Link className="name" to="/sources/$name" params={{ name }} title={name}>
        {name}
      </Link>
    ),
  },
  { title: 'State', cell: ([, cursor]) => <State cursor={cursor} /> },
  { title: 'Progress', cell: ([, cursor]) => <Gauge cursor={cursor} /> },
  { title: 'Position', cell: ([, { seq, head }]) => `${seq} of ${head}`, isNumber: true },
  { title: 'Last pull', cell: ([, { seen_at }]) => <Moment at={seen_at} />, isWide: true },
];

export function Device() {
  const { id } = useParams({ strict: false }) as { readonly id: string };
  const query = useQuery({ queryKey: ['devices', id], queryFn: () => client.clients.get(id) });
  const isAdmin = useIsAdmin();
  const user = query.data?.user_id;
  const actions = isAdmin && user !== undefined && (
    <>
      <PingUser login={user} />
      <DeleteDevice id={id} user={user} />
    </>
  );
  return (
    <Page
      title={id}
      parent={
        user === undefined
          ? { title: 'Users', to: '/users' }
          : { title: user, to: `/users/${encodeURIComponent(user)}` }
      }
      actions={actions}
    >
      <Loaded query={query}>
        {(device) => (
          <>
            <Facts facts={factsOf(device)} />
            <Section title="Sources">
              <Cursors cursors={Object.entries(device.cursors)} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Cursors({ cursors }: { readonly cursors: readonly SourceCursor[] }) {
  if (cursors.length === 0)
    return <Empty title="It has not pulled yet">Sources appear when the device pulls them for the first time.</Empty>;
  return <DataTable label="Sources of the device" rows={cursors} keyOf={([name]) => name} columns={COLUMNS} />;
}

function factsOf(device: Client) {
  return [
    ['User', device.user_id],
    ['Last sync', <Moment key="sync" at={device.last_sync} />],
    ['Registered', <Moment key="made" at={device.created_at} />],
    ['Type', device.device_type ?? 'not told'],
    ['App', [device.device_app_id, device.device_app_version].filter(Boolean).join(' ') || 'not told'],
    ['Push address', device.device_pin ?? 'none: pings reach it only while it is connected'],
  ] as const;
}

function State({ cursor: { seq, base, head } }: { readonly cursor: DeviceCursor }) {
  if (base === null)
    return (
      <Badge color="yellow" variant="light">
        starting over
      </Badge>
    );
  return seq >= head ? (
    <Badge color="green" variant="light">
      up to date
    </Badge>
  ) : (
    <Badge color="blue" variant="light">
      behind
    </Badge>
  );
}

function Gauge({ cursor: { seq, head } }: { readonly cursor: DeviceCursor }) {
  const percent = head === 0 ? 100 : Math.min(100, Math.round((seq / head) * 100));
  return (
    <div className="gauge" role="img" aria-label={`${percent} percent`}>
      <div style={{ width: `${percent}%` }} />
    </div>
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
