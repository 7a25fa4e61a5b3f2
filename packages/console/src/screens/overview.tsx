import { Alert, Anchor, Badge, Group, Stack, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JobQueue, Receipt, Source } from '@tidemark/protocol';
import { useEffect, useState } from 'react';
import { useActivity } from '../api/activity.ts';
import { client, type Readiness, readiness } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { Bars } from '../components/bars.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Gauge } from '../components/gauge.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page, Section } from '../components/page.tsx';
import { FirstRun } from './first-run.tsx';

const REFRESH_MS = 10_000;
const RATE_MS = 10_000;
const RATED = { kinds: ['push', 'pull'] } as const;
/** Sources whose receipts are read. */
const RECEIPTS_MAX = 20;
/** A device that was not seen for so long is worth a look. */
const OLD_MS = 86_400_000;
const STEPS_SHOWN = 60;
const CHARTS = [
  { metric: 'http:POST:/sync/v1/pull', title: 'Pulls of devices' },
  { metric: 'http:POST:/app/v1/:source_name/push_objects', title: 'Pushes of backends' },
] as const;

export function Overview() {
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const license = useQuery({ queryKey: ['license'], queryFn: () => client.system.license() });
  const queues = useQuery({ queryKey: ['queues'], queryFn: () => client.jobs.queues(), refetchInterval: REFRESH_MS });
  const ready = useQuery({ queryKey: ['readiness'], queryFn: readiness, refetchInterval: REFRESH_MS });
  const receipts = useReceipts(sources.data ?? []);
  const rates = useRates();
  // The first steps stay until the screen is left, also when they have filled the server.
  const [wasEmpty, setWasEmpty] = useState(false);
  const isFirstRun = useIsAdmin() && (wasEmpty || sources.data?.length === 0);
  if (isFirstRun && !wasEmpty) setWasEmpty(true);
  return (
    <Page title="Overview" about="How this server is doing.">
      <Insights insights={insightsOf({ ready: ready.data, queues: queues.data, receipts })} />
      {isFirstRun && <FirstRun />}
      <div className="tiles">
        <Tile title="Sources" value={sources.data?.length} to="/sources" />
        <Tile title="Devices" value={license.data?.devices} to="/users" />
        <Tile title="Pushes / s" value={rates.push} to="/activity" />
        <Tile title="Pulls / s" value={rates.pull} to="/activity" />
        <Tile title="Jobs under way" value={sumOf(queues.data, 'due', 'leased', 'waiting', 'delayed')} to="/jobs" />
        <Tile title="Dead jobs" value={sumOf(queues.data, 'dead')} to="/jobs" />
      </div>
      <div className="columns">
        {CHARTS.map((chart) => (
          <Chart key={chart.metric} {...chart} />
        ))}
      </div>
      {receipts.length > 0 && (
        <Section title="How fresh devices are">
          <DataTable label="Freshness" rows={receipts} keyOf={({ source }) => source} columns={FRESHNESS} />
        </Section>
      )}
      <Section title="Checks">
        <Loaded query={ready}>{(data) => <Checks ready={data} />}</Loaded>
      </Section>
    </Page>
  );
}

const FRESHNESS: readonly Column<Receipt>[] = [
  { title: 'Source', cell: ({ source }) => <NameLink kind="source" name={source} /> },
  {
    title: 'Devices with the newest state',
    cell: ({ delivered, devices }) => <Gauge part={delivered} whole={devices} />,
  },
  { title: 'Behind', cell: ({ behind }) => behind.toLocaleString('en'), isNumber: true },
  {
    title: 'Never synced',
    cell: ({ never_synced }) => never_synced.toLocaleString('en'),
    isNumber: true,
    isWide: true,
  },
  {
    title: 'Furthest behind was seen',
    cell: ({ oldest_behind_at: at }) => (at === null ? '–' : <Moment at={at} />),
    isWide: true,
  },
];

/** The receipts of shared sources; those of users have one per user. */
function useReceipts(sources: readonly Source[]): readonly Receipt[] {
  const shared = sources.filter(({ partition_type }) => partition_type === 'app').slice(0, RECEIPTS_MAX);
  const results = useQueries({
    queries: shared.map(({ name }) => ({
      queryKey: ['receipts', name],
      queryFn: () => client.sources.receipts(name, { limit: 1 }),
      refetchInterval: REFRESH_MS,
    })),
  });
  return results.flatMap(({ data }) => (data === undefined ? [] : [data]));
}

/** What happened per second, on average of the last seconds, from the live activity. */
function useRates(): { readonly push: number | undefined; readonly pull: number | undefined } {
  const { lines, state } = useActivity(RATED);
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  if (state !== 'live') return { push: undefined, pull: undefined };
  const recent = lines.filter(({ event }) => Date.parse(event.at) > nowMs - RATE_MS);
  const rateOf = (kind: string) =>
    Math.round((recent.filter(({ event }) => event.kind === kind).length / RATE_MS) * 10_000) / 10;
  return { push: rateOf('push'), pull: rateOf('pull') };
}

function sumOf(
  queues: readonly JobQueue[] | undefined,
  ...states: readonly (keyof JobQueue['counts'])[]
): number | undefined {
  return queues?.reduce((sum, { counts }) => sum + states.reduce((part, state) => part + counts[state], 0), 0);
}

function Tile({
  title,
  value,
  to,
}: {
  readonly title: string;
  readonly value: number | undefined;
  readonly to: string;
}) {
  return (
    <Link to={to} className="card tile">
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <div className="value">{value?.toLocaleString('en') ?? '–'}</div>
    </Link>
  );
}

interface Insight {
  readonly title: string;
  readonly remedy: string;
  /** The screen where something can be done about it. */
  readonly to: string;
  readonly at: string;
}

interface Known {
  readonly ready: Readiness | undefined;
  readonly queues: readonly JobQueue[] | undefined;
  readonly receipts: readonly Receipt[];
}

/** What an operator should look at, each with what to do about it. */
function insightsOf({ ready, queues = [], receipts }: Known): readonly Insight[] {
  const { checks = [], backend } = ready ?? {};
  const system = { to: '/system', at: 'System' };
  const jobs = { to: '/jobs', at: 'Jobs' };
  const dead = sumOf(queues, 'dead') ?? 0;
  const isOld = ({ oldest_behind_at: at }: Receipt) => at !== null && Date.now() - Date.parse(at) > OLD_MS;
  return [
    ...checks
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) => ({ title: `The check “${name}” fails`, remedy: detail, ...system })),
    ...checks
      .filter(({ name }) => name === 'warning')
      .map(({ detail }) => ({ title: 'The store warns', remedy: detail, ...system })),
    ...(backend?.state === 'open' || backend?.state === 'trying'
      ? [
          {
            title: 'The backend does not answer',
            remedy: `${backend.failures} calls in a row failed. “Check the backend” tells why.`,
            to: '/backend',
            at: 'Backend',
          },
        ]
      : []),
    ...(dead > 0
      ? [
          {
            title: `${dead} dead ${dead === 1 ? 'job' : 'jobs'}`,
            remedy: 'All their attempts failed. Read the reasons, then retry or remove them.',
            ...jobs,
          },
        ]
      : []),
    ...queues
      .filter(({ paused }) => paused)
      .map(({ queue }) => ({
        title: `The queue “${queue}” is paused`,
        remedy: 'Its jobs wait until somebody resumes it.',
        ...jobs,
      })),
    ...receipts.filter(isOld).map(({ source, behind }) => ({
      title: `${behind} ${behind === 1 ? 'device is' : 'devices are'} behind in “${source}”`,
      remedy: 'At least one has not synced for a day. Ping those that are behind.',
      to: '/pings',
      at: 'Pings',
    })),
  ];
}

function Insights({ insights }: { readonly insights: readonly Insight[] }) {
  return (
    <>
      {insights.map(({ title, remedy, to, at }) => (
        <Alert key={`${title} ${remedy}`} color="yellow" title={<span className="long">{title}</span>}>
          <Text size="sm" className="long">
            {remedy}{' '}
            <Anchor component={Link} to={to} size="sm">
              Open {at}
            </Anchor>
          </Text>
        </Alert>
      ))}
    </>
  );
}

function Checks({ ready: { checks = [], durability } }: { readonly ready: Readiness }) {
  return (
    <div className="card">
      <Stack gap="xs">
        {checks.map(({ name, ok, detail }) => (
          <Group key={`${name} ${detail}`} gap="sm" wrap="nowrap">
            <Badge color={ok ? 'green' : 'red'} variant="light" miw={60}>
              {ok ? 'ok' : 'fails'}
            </Badge>
            <Text size="sm" fw={600}>
              {name}
            </Text>
            <Text size="sm" c="dimmed" className="long">
              {detail}
            </Text>
          </Group>
        ))}
        {durability !== undefined && (
          <Text size="sm" c="dimmed">
            Durability: {durability}
          </Text>
        )}
      </Stack>
    </div>
  );
}

/** The requests of the last hour, minute by minute. */
function Chart({ metric, title }: { readonly metric: string; readonly title: string }) {
  const query = useQuery({
    queryKey: ['metric', metric],
    queryFn: async () => {
      const names = await client.system.metricNames(metric);
      return names.includes(metric) ? client.system.metric(metric, { start: -STEPS_SHOWN }) : [];
    },
    refetchInterval: REFRESH_MS,
  });
  return (
    <Section title={title}>
      <Loaded query={query}>{(steps) => <Bars steps={steps} title={title} />}</Loaded>
    </Section>
  );
}
