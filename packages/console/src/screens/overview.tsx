import { Badge, Group, Stack, Text } from '@mantine/core';
import { useQueries, useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { FileUsage, JobQueue, Receipt, Source } from '@tidemark/protocol';
import { useEffect, useState } from 'react';
import { LINES_MAX, useActivity } from '../api/activity.ts';
import { client, readiness } from '../api/client.ts';
import { readMetrics } from '../api/metrics.ts';
import { checkState, type Readiness } from '../api/readiness.ts';
import { refreshErrorOf } from '../api/refresh-error.ts';
import { quantileOf, type Sample, sumOfSamples } from '../api/samples.ts';
import { useIsAdmin } from '../api/session.ts';
import { bytesText } from '../components/bytes-text.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Gauge } from '../components/gauge.tsx';
import { Loaded } from '../components/loaded.tsx';
import { durationOf, Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page, Section } from '../components/page.tsx';
import type { Known } from './find-insights.ts';
import { FirstRun } from './first-run.tsx';
import { Insights } from './insights.tsx';
import { MetricChart } from './metric-chart.tsx';
import { useFileUsage } from './use-file-usage.ts';

const REFRESH_MS = 10_000;
const RATE_MS = 10_000;
const RATED = { kinds: ['push', 'pull'], recent: 0 } as const;
/** Sources whose receipts and refreshes are read. */
const SOURCES_READ_MAX = 20;
const PULL_ROUTE = '/sync/v1/pull';
const PUSH_ROUTE = '/app/v1/:source_name/push_objects';
/** The metric of a query of the backend, before the name of the source. */
const QUERIED = 'sources:query:';
const CHARTS = [
  { metric: 'http:POST:/sync/v1/pull', title: 'Pulls of devices' },
  { metric: 'http:POST:/app/v1/:source_name/push_objects', title: 'Pushes of backends' },
] as const;

export function Overview() {
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const license = useQuery({ queryKey: ['license'], queryFn: () => client.system.license() });
  const queues = useQuery({ queryKey: ['queues'], queryFn: () => client.jobs.queues(), refetchInterval: REFRESH_MS });
  const ready = useQuery({ queryKey: ['readiness'], queryFn: readiness, refetchInterval: REFRESH_MS });
  const metrics = useQuery({ queryKey: ['prometheus'], queryFn: readMetrics, refetchInterval: REFRESH_MS });
  const files = useFileUsage();
  const queried = useQuery({ queryKey: ['metrics', QUERIED], queryFn: () => client.system.metricNames(`${QUERIED}*`) });
  const missing = useQuery({ queryKey: ['files', 'missing'], queryFn: () => client.files.list({ state: 'missing' }) });
  const isAdmin = useIsAdmin();
  const settings = useSettings(isAdmin);
  const receipts = useReceipts(sources.data ?? []);
  const failing = useFailing(sources.data ?? []);
  const rates = useRates();
  // The first steps stay until the screen is left, also when they have filled the server.
  const [wasEmpty, setWasEmpty] = useState(false);
  const isFirstRun = isAdmin && (wasEmpty || sources.data?.length === 0);
  if (isFirstRun && !wasEmpty) setWasEmpty(true);
  return (
    <Page title="Overview" about="How this server is doing.">
      <Insights
        known={{
          ready: ready.data,
          queues: queues.data,
          receipts,
          failing,
          missingFiles: missing.data?.files ?? [],
          sources: sources.data,
          queried: queried.data && new Set(queried.data.map((name) => name.slice(QUERIED.length))),
          settings: settings.data,
        }}
      />
      {isFirstRun && <FirstRun />}
      <div className="tiles">
        <Tile title="Sources" value={sources.data?.length} to="/sources" atMs={sources.dataUpdatedAt} />
        <Tile
          title="Devices"
          value={license.data?.devices}
          to="/devices"
          note={deviceWords(metrics.data ?? [], receipts)}
          atMs={license.dataUpdatedAt}
        />
        <Tile
          title="Pushes / s"
          value={rates.push}
          to="/activity"
          note={latencyWords(metrics.data ?? [], PUSH_ROUTE)}
          atMs={metrics.dataUpdatedAt}
        />
        <Tile
          title="Pulls / s"
          value={rates.pull}
          to="/activity"
          note={latencyWords(metrics.data ?? [], PULL_ROUTE)}
          atMs={metrics.dataUpdatedAt}
        />
        <Tile
          title="Jobs under way"
          value={sumOf(queues.data, 'due', 'leased', 'waiting', 'delayed')}
          to="/jobs"
          note={jobWords(queues.data)}
          atMs={queues.dataUpdatedAt}
        />
        <FilesTile usage={files.data} atMs={files.dataUpdatedAt} />
        <StoreTile ready={ready.data} samples={metrics.data} atMs={metrics.dataUpdatedAt} />
      </div>
      <div className="columns">
        {CHARTS.map((chart) => (
          <MetricChart key={chart.metric} {...chart} />
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

function useSettings(enabled: boolean) {
  return useQuery({ queryKey: ['settings'], queryFn: () => client.system.settings(), enabled });
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
  },
  {
    title: 'Furthest behind was seen',
    cell: ({ oldest_behind_at: at }) => (at === null ? '–' : <Moment at={at} />),
  },
];

/** The receipts of shared sources; those of users have one per user. */
function useReceipts(sources: readonly Source[]): readonly Receipt[] {
  const shared = sources.filter(({ partition_type }) => partition_type === 'app').slice(0, SOURCES_READ_MAX);
  const results = useQueries({
    queries: shared.map(({ name }) => ({
      queryKey: ['receipts', name],
      queryFn: () => client.sources.receipts(name, { limit: 1 }),
      refetchInterval: REFRESH_MS,
    })),
  });
  return results.flatMap(({ data }) => (data === undefined ? [] : [data]));
}

/** Shared sources whose last refresh failed. */
function useFailing(sources: readonly Source[]): Known['failing'] {
  const refreshed = sources
    .filter(({ partition_type, adapter }) => partition_type === 'app' && adapter !== 'none')
    .slice(0, SOURCES_READ_MAX);
  return useQueries({
    queries: refreshed.map(({ name }) => ({
      queryKey: ['refresh error', name],
      queryFn: () => refreshErrorOf(name),
      refetchInterval: REFRESH_MS,
    })),
    combine: (results) =>
      results.flatMap(({ data }, index) =>
        data === undefined || data === null ? [] : [{ source: refreshed[index]?.name ?? '', detail: data.detail }],
      ),
  });
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
  // A busy server fills the list in less time than it is meant to cover.
  const oldestMs = recent.length === LINES_MAX ? Date.parse(recent.at(-1)?.event.at ?? '') : nowMs - RATE_MS;
  const seconds = Math.max(1, (nowMs - oldestMs) / 1_000);
  const rateOf = (kind: string) =>
    Math.round((recent.filter(({ event }) => event.kind === kind).length / seconds) * 10) / 10;
  return { push: rateOf('push'), pull: rateOf('pull') };
}

function sumOf(
  queues: readonly JobQueue[] | undefined,
  ...states: readonly (keyof JobQueue['counts'])[]
): number | undefined {
  return queues?.reduce((sum, { counts }) => sum + states.reduce((part, state) => part + counts[state], 0), 0);
}

/** How many devices listen now, how many were seen, and how many are behind. */
function deviceWords(samples: readonly Sample[], receipts: readonly Receipt[]): string | undefined {
  const now = sumOfSamples(samples, 'tidemark_listeners') ?? sumOfSamples(samples, 'tidemark_event_streams');
  const day = sumOfSamples(samples, 'tidemark_devices_seen', { within: '1d' });
  const behind = Math.max(0, ...receipts.map((receipt) => receipt.behind));
  if (now === undefined) return undefined;
  // The server counts them now and then, so a server that has just started knows of none.
  return `${now} connected now, ${day === undefined || day === 0 ? '' : `${day} in 24 h, `}${behind} behind`;
}

/** The time of requests since the server started, as bounds that so many of them kept. */
function latencyWords(samples: readonly Sample[], route: string): string | undefined {
  const of = (quantile: number) =>
    quantileOf(samples, 'tidemark_http_request_seconds', { quantile, route, method: 'POST' });
  const [median, slow] = [of(0.5), of(0.99)];
  if (median === undefined || slow === undefined) return undefined;
  const words = (seconds: number) => (Number.isFinite(seconds) ? `≤ ${durationOf(seconds * 1_000)}` : 'very slow');
  return `p50 ${words(median)}, p99 ${words(slow)}`;
}

function jobWords(queues: readonly JobQueue[] | undefined): string | undefined {
  const dead = sumOf(queues, 'dead');
  if (queues === undefined || dead === undefined) return undefined;
  const lagMs = Math.max(0, ...queues.map(({ lag_ms }) => lag_ms));
  return `${dead} dead${lagMs === 0 ? '' : `; the oldest due has waited ${durationOf(lagMs)}`}`;
}

function storeWords(samples: readonly Sample[] | undefined): string | undefined {
  const bytes = samples && sumOfSamples(samples, 'tidemark_store_bytes');
  return bytes === undefined ? undefined : bytesText(bytes);
}

interface StoreTileProps {
  readonly ready: Readiness | undefined;
  readonly samples: readonly Sample[] | undefined;
  readonly atMs: number;
}

function StoreTile({ ready, samples, atMs }: StoreTileProps) {
  return <Tile title="Store" value={storeWords(samples)} to="/system" note={ready?.durability} atMs={atMs} />;
}

/** Only a server that has to do with files shows how many. */
function FilesTile({ usage, atMs }: { readonly usage: FileUsage | undefined; readonly atMs: number }) {
  if (usage === undefined || usage.files + usage.missing === 0) return null;
  const { files, bytes, missing } = usage;
  const note = `${bytesText(bytes)}${missing === 0 ? '' : `, ${missing.toLocaleString('en')} more only on devices`}`;
  return <Tile title="Files" value={files} to="/files" note={note} atMs={atMs} />;
}

function Tile({
  title,
  value,
  to,
  note,
  atMs,
}: {
  readonly title: string;
  readonly value: number | string | undefined;
  readonly to: string;
  readonly note?: string | undefined;
  /** When the value was read; 0: not yet. */
  readonly atMs: number;
}) {
  return (
    <Link to={to} className="card tile">
      <Text size="sm" c="dimmed">
        {title}
      </Text>
      <div className="value">{value?.toLocaleString('en') ?? '–'}</div>
      {note !== undefined && (
        <Text size="xs" c="dimmed">
          {note}
        </Text>
      )}
      {atMs > 0 && (
        <div className="age">
          <Moment at={new Date(atMs).toISOString()} />
        </div>
      )}
    </Link>
  );
}

const CHECK_COLORS = { ok: 'green', warning: 'yellow', fails: 'red' } as const;

function Checks({ ready: { checks = [] } }: { readonly ready: Readiness }) {
  return (
    <div className="card">
      <Stack gap="xs">
        {checks.map(({ name, ok, detail }) => (
          <Group key={`${name} ${detail}`} gap="sm" wrap="nowrap">
            <Badge color={CHECK_COLORS[checkState({ name, ok })]} variant="light" miw={60}>
              {checkState({ name, ok })}
            </Badge>
            <Text size="sm" fw={600}>
              {name}
            </Text>
            <Text size="sm" c="dimmed" className="long">
              {detail}
            </Text>
          </Group>
        ))}
      </Stack>
    </div>
  );
}
