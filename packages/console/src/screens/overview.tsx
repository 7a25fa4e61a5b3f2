import { Alert, Badge, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { JobQueue, StatStep } from '@tidemark/protocol';
import { client, type Readiness, readiness } from '../api/client.ts';
import { Loaded } from '../components/loaded.tsx';
import { durationOf } from '../components/moment.tsx';
import { Page, Section } from '../components/page.tsx';

const REFRESH_MS = 10_000;
const STEPS_SHOWN = 60;
const STEP_S = 60;
const CHARTS = [
  { metric: 'http:POST:/sync/v1/pull', title: 'Pulls of devices' },
  { metric: 'http:POST:/app/v1/:source_name/push_objects', title: 'Pushes of backends' },
] as const;

export function Overview() {
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const license = useQuery({ queryKey: ['license'], queryFn: () => client.system.license() });
  const queues = useQuery({ queryKey: ['queues'], queryFn: () => client.jobs.queues(), refetchInterval: REFRESH_MS });
  const ready = useQuery({ queryKey: ['readiness'], queryFn: readiness, refetchInterval: REFRESH_MS });
  const dead = sumOf(queues.data, 'dead');
  return (
    <Page title="Overview" about="How this server is doing.">
      <Problems ready={ready.data} dead={dead} />
      <div className="tiles">
        <Tile title="Sources" value={sources.data?.length} to="/sources" />
        <Tile title="Devices" value={license.data?.devices} to="/users" />
        <Tile title="Jobs under way" value={sumOf(queues.data, 'due', 'leased', 'waiting', 'delayed')} to="/jobs" />
        <Tile title="Dead jobs" value={dead} to="/jobs" />
      </div>
      <div className="columns">
        {CHARTS.map((chart) => (
          <Chart key={chart.metric} {...chart} />
        ))}
      </div>
      <Section title="Checks">
        <Loaded query={ready}>{(data) => <Checks ready={data} />}</Loaded>
      </Section>
    </Page>
  );
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

interface Problem {
  readonly title: string;
  readonly remedy: string;
}

/** What an operator should look at, each with what to do about it. */
function problemsOf(ready: Readiness | undefined, dead: number | undefined): readonly Problem[] {
  const { checks = [], backend } = ready ?? {};
  return [
    ...checks
      .filter(({ ok }) => !ok)
      .map(({ name, detail }) => ({ title: `The check “${name}” fails`, remedy: detail })),
    ...checks
      .filter(({ name }) => name === 'warning')
      .map(({ detail }) => ({ title: 'The store warns', remedy: detail })),
    ...(backend?.state === 'open' || backend?.state === 'trying'
      ? [
          {
            title: 'The backend does not answer',
            remedy: `${backend.failures} calls in a row failed. System → Check the backend tells why.`,
          },
        ]
      : []),
    ...(dead !== undefined && dead > 0
      ? [
          {
            title: `${dead} dead ${dead === 1 ? 'job' : 'jobs'}`,
            remedy: 'All their attempts failed. Jobs shows the reasons; retry or remove them there.',
          },
        ]
      : []),
  ];
}

function Problems({ ready, dead }: { readonly ready: Readiness | undefined; readonly dead: number | undefined }) {
  return (
    <>
      {problemsOf(ready, dead).map(({ title, remedy }) => (
        <Alert key={title} color="yellow" title={title}>
          <Text size="sm">{remedy}</Text>
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

function Bars({ steps, title }: { readonly steps: readonly StatStep[]; readonly title: string }) {
  const lastAt = Math.floor(Date.now() / 1_000 / STEP_S) * STEP_S;
  const byAt = new Map(steps.map((step) => [step.at, step]));
  const minutes = Array.from({ length: STEPS_SHOWN }, (_, index) => {
    const at = lastAt - (STEPS_SHOWN - 1 - index) * STEP_S;
    return { at, count: byAt.get(at)?.count ?? 0 };
  });
  const max = Math.max(1, ...minutes.map(({ count }) => count));
  const shown = steps.filter(({ at }) => at > lastAt - STEPS_SHOWN * STEP_S);
  const count = shown.reduce((sum, step) => sum + step.count, 0);
  const meanMs = count === 0 ? 0 : shown.reduce((sum, step) => sum + step.sum, 0) / count;
  const words =
    count === 0
      ? 'none in the last hour'
      : `${count.toLocaleString('en')} in the last hour, ${durationOf(meanMs)} on average`;
  return (
    <div className="card">
      <svg
        className="bars"
        viewBox={`0 0 ${STEPS_SHOWN * 4} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${title}: ${words}`}
      >
        {minutes.map(({ at, count: value }, index) => (
          <rect key={at} x={index * 4} width={3} y={39 - (value / max) * 38} height={(value / max) * 38 + 1} />
        ))}
      </svg>
      <Text size="sm" c="dimmed">
        {words}
      </Text>
    </div>
  );
}
