import { Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { TidemarkError } from '@tidemark/backend';
import type { Ping, PingReport, PingResult } from '@tidemark/protocol';
import { client, SERVER_URL } from '../api/client.ts';
import { type ApiCall, curlOf, pingPipeline, quoted } from '../api/curl.ts';
import { usePages } from '../api/pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Gauge } from '../components/gauge.tsx';
import { Loaded } from '../components/loaded.tsx';
import { durationOf, Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { ComposePing } from './compose-ping.tsx';
import { DeviceLink } from './device-link.tsx';
import { PingStatus } from './ping-status.tsx';
import { PingSent } from './ping-user.tsx';

const PAGE_PINGS = 50;
const PAGE_RESULTS = 200;
const REFRESH_MS = 3_000;

const COLUMNS: readonly Column<Ping>[] = [
  { title: 'Ping', cell: ({ ping_id }) => <NameLink kind="ping" name={ping_id} /> },
  { title: 'When', cell: ({ at }) => <Moment at={at} /> },
  { title: 'To', cell: ({ users }) => counted(users, 'user') },
  { title: 'Sent by', cell: (ping) => <span className="name">{senderOf(ping)}</span> },
  {
    title: 'Sources',
    cell: ({ sources }) => <span className="name">{sources.join(', ') || 'all'}</span>,
  },
  { title: 'Arrived', cell: (ping) => <Arrived ping={ping} /> },
  { title: 'Failed', cell: ({ failed, retired, gone }) => failed + retired + gone, isNumber: true },
];

function senderOf({ cause, actor }: Pick<Ping, 'cause' | 'actor'>): string {
  return cause === 'push' ? 'a push' : (actor ?? 'nobody');
}

function Arrived({ ping: { accepted, sent, devices } }: { readonly ping: Ping }) {
  return devices === 0 ? 'went to no device' : <Gauge part={accepted + sent} whole={devices} />;
}

export function Pings() {
  const query = usePages({
    queryKey: ['pings'],
    limit: PAGE_PINGS,
    read: (page) => client.pings.list(page),
    nameOf: ({ ping_id }) => ping_id,
  });
  const isAdmin = useIsAdmin();
  return (
    <Page
      title="Pings"
      about="Push messages that wake devices up, so that they sync, or show a text."
      actions={isAdmin && <ComposePing />}
    >
      <Loaded query={query}>
        {({ pages }) =>
          pages.flat().length === 0 ? (
            <Empty
              title="No pings yet"
              curl={curlOf((api) => api.users.ping({ user_id: 'ada', message: 'New orders' }))}
              cli={`tidemark --url ${SERVER_URL} ping ada --message 'New orders'`}
            >
              Send one with the button above, or with one of these commands. A source with “Ping after a push” sends
              them by itself.
            </Empty>
          ) : (
            <DataTable label="Pings" rows={pages.flat()} keyOf={({ ping_id }) => ping_id} columns={COLUMNS} />
          )
        }
      </Loaded>
      <PagesButton query={query}>Older pings</PagesButton>
    </Page>
  );
}

/** The results in the order in which they became known, each with the time since the ping was sent. */
const resultColumns = (sentAt: string): readonly Column<PingResult>[] => [
  { title: 'After', cell: ({ at }) => durationOf(Math.max(0, Date.parse(at) - Date.parse(sentAt))), isNumber: true },
  { title: 'Device', cell: ({ client_id }) => <DeviceLink id={client_id} hasId /> },
  { title: 'Result', cell: ({ status }) => <PingStatus status={status} /> },
  { title: 'By', cell: ({ service }) => service ?? '–' },
  { title: 'Attempts', cell: ({ attempts }) => attempts, isNumber: true },
  { title: 'Answer of the service', cell: ({ reason }) => <span className="long">{reason ?? '–'}</span> },
  { title: 'Caught up', cell: ({ caught_up_by: at }) => (at === null ? 'not yet' : <Moment at={at} />) },
];

const FAILED: ReadonlySet<PingResult['status']> = new Set(['failed', 'retired', 'gone']);

interface PingAgainProps {
  readonly sources: readonly string[];
  readonly results: readonly PingResult[];
}

/** Sends a ping again to the users of the devices that it did not reach. */
function PingAgain({ sources, results }: PingAgainProps) {
  const failed = results.filter(({ status }) => FAILED.has(status)).map(({ client_id }) => client_id);
  const ping = sources.length === 0 ? {} : { sources };
  const call: ApiCall = async (api) => {
    const users = await Promise.all(failed.map(userOf));
    return api.users.ping({ user_id: [...new Set(users.flat())], ...ping });
  };
  if (failed.length === 0) return null;
  const readDevices = `for id in ${failed.map(quoted).join(' ')}; do
  curl "${SERVER_URL}/rc/v1/clients/$id" -H "X-Sync-API-TOKEN: $TOKEN"; done`;
  return (
    <Action
      label="Ping again"
      title="Ping again who was not reached"
      verb="Send ping"
      button={{ variant: 'default' }}
      call={call}
      curl={pingPipeline(readDevices, { isSlurped: true, users: '(map(.user_id) | unique)', ping })}
      showAnswer={(answer) => <PingSent report={answer as PingReport} />}
    >
      <Text size="sm">
        The users of {counted(failed.length, 'device')} get a ping without a text, on all their devices. A device
        without a valid address stays out of reach until it registers one.
      </Text>
    </Action>
  );
}

/** Returns the user of a device; nobody, if the device was deleted. */
async function userOf(device: string): Promise<readonly string[]> {
  try {
    return [(await client.clients.get(device)).user_id];
  } catch (error) {
    if (error instanceof TidemarkError && error.code === 'client_not_found') return [];
    throw error;
  }
}

function noDeviceWords({ skipped }: Pick<Ping, 'skipped'>): string {
  if (skipped === 0) return 'The ping went to no device: its users have none.';
  return `The ping went to no device. ${counted(skipped, 'device')} had neither a push address nor a connection, or nothing new to get.`;
}

/** A ping with its results, which arrive while the screen is open. */
export function PingResults() {
  const { id } = useParams({ strict: false }) as { readonly id: string };
  const query = useQuery({
    queryKey: ['pings', id],
    queryFn: () => client.pings.get(id, { limit: PAGE_RESULTS }),
    refetchInterval: ({ state }) => (state.data?.pending === 0 ? false : REFRESH_MS),
  });
  const isAdmin = useIsAdmin();
  return (
    <Page title="Ping" about={id} parent={{ title: 'Pings', to: '/pings' }}>
      <Loaded query={query}>
        {({ results, ...ping }) => (
          <>
            <Facts
              isDense
              facts={[
                ['Sent', <Moment key="at" at={ping.at} />],
                ['Sent by', senderOf(ping)],
                ['Sources', ping.sources.join(', ') || 'all'],
                ['Message', ping.has_message ? 'yes' : 'none: it syncs in the background'],
                ['Devices', ping.skipped === 0 ? ping.devices : `${ping.devices}, and ${ping.skipped} skipped`],
                ['Waiting for a result', ping.pending],
              ]}
            />
            <Section title="Results" actions={isAdmin && <PingAgain sources={ping.sources} results={results} />}>
              {results.length === 0 ? (
                <Text size="sm" c="dimmed" className="card">
                  {ping.devices === 0 ? noDeviceWords(ping) : 'No result has arrived yet.'}
                </Text>
              ) : (
                <DataTable
                  label="Results"
                  rows={results.toSorted((left, right) => Date.parse(left.at) - Date.parse(right.at))}
                  keyOf={({ client_id }) => client_id}
                  columns={resultColumns(ping.at)}
                />
              )}
              {results.length === PAGE_RESULTS && (
                <Text size="sm" c="dimmed">
                  The first {PAGE_RESULTS} devices. tidemark pings {id} lists all.
                </Text>
              )}
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
