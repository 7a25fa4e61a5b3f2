import { Anchor, Button, Group, NativeSelect, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { StatStep } from '@tidemark/protocol';
import { Fragment, useDeferredValue, useState } from 'react';
import { client } from '../api/client.ts';
import { readMetrics } from '../api/metrics.ts';
import { Bars } from '../components/bars.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { saveFile } from '../components/save-file.ts';
import { busiestRoutes, type RouteRow, type StatChart, statSections } from './stat-sections.ts';

const REFRESH_MS = 10_000;
const CHARTS_MAX = 12;
/** Names that are listed. */
const NAMES_MAX = 500;
const RANGES = [
  ['1', 'the last hour'],
  ['24', 'the last 24 hours'],
  ['168', 'the last 7 days'],
] as const;

interface StatSearch {
  readonly pattern?: string;
  readonly hours?: string;
  readonly compare?: string;
}

/** What the server measures: what matters first, then everything by name. Pattern and range are part of the address. */
export function Stats() {
  const search = useSearch({ strict: false }) as StatSearch;
  const navigate = useNavigate();
  const range = { hours: Number(search.hours ?? '1'), isCompared: search.compare === 'yes' };
  const show = (changes: StatSearch) =>
    void navigate({ to: '/stats', search: (before: object) => ({ ...before, ...changes }), replace: true } as never);
  return (
    <Page title="Stats" about="What the server has measured. Charts are minute by minute, of all servers together.">
      <Group gap="sm" align="end">
        <NativeSelect
          label="Range"
          value={String(range.hours)}
          onChange={(event) => show({ hours: event.currentTarget.value })}
          data={RANGES.map(([value, label]) => ({ value, label }))}
        />
        <Switch
          label="Compare with the range before"
          checked={range.isCompared}
          onChange={(event) => show({ compare: event.currentTarget.checked ? 'yes' : '' })}
          pb={8}
        />
      </Group>
      {(search.pattern ?? '') === '' && <Sections range={range} />}
      <AllMetrics pattern={search.pattern ?? ''} onPattern={(pattern) => show({ pattern })} range={range} />
    </Page>
  );
}

interface Range {
  readonly hours: number;
  readonly isCompared: boolean;
}

const ROUTES: readonly Column<RouteRow>[] = [
  { title: 'Route', cell: ({ route }) => <Breakable text={route} /> },
  { title: 'Requests', cell: ({ requests }) => requests.toLocaleString('en'), isNumber: true },
  { title: 'Failed', cell: ({ failed }) => failed.toLocaleString('en'), isNumber: true },
  { title: 'p50', cell: ({ median }) => median, isNumber: true },
  { title: 'p99', cell: ({ slow }) => slow, isNumber: true },
];

function Sections({ range }: { readonly range: Range }) {
  const samples = useQuery({ queryKey: ['prometheus'], queryFn: readMetrics, refetchInterval: REFRESH_MS });
  const names = useQuery({ queryKey: ['metrics', '*'], queryFn: () => client.system.metricNames('*') });
  return (
    <Loaded query={samples}>
      {(measured) => (
        <>
          <Section title="Requests">
            <Text size="sm" c="dimmed">
              The busiest routes since this server started. Half of the requests kept p50, 99 of 100 kept p99.
            </Text>
            <DataTable label="Routes" rows={busiestRoutes(measured)} keyOf={({ route }) => route} columns={ROUTES} />
          </Section>
          {statSections(measured, names.data ?? []).map(({ title, about, facts, charts }) => (
            <Section key={title} title={title}>
              <Text size="sm" c="dimmed">
                {about}
              </Text>
              {facts.length > 0 && <Facts facts={facts.map((fact) => [fact.title, fact.value])} isDense />}
              <div className="columns">
                {charts.map((chart) => (
                  <Metric key={chart.metric} {...chart} {...range} />
                ))}
              </div>
            </Section>
          ))}
        </>
      )}
    </Loaded>
  );
}

interface AllMetricsProps {
  readonly pattern: string;
  readonly onPattern: (pattern: string) => void;
  readonly range: Range;
}

/** Every metric by its name: charts of those that match, or without a pattern the names alone. */
function AllMetrics({ pattern, onPattern, range }: AllMetricsProps) {
  const [typed, setTyped] = useState(pattern);
  const wanted = useDeferredValue(typed === '' ? '*' : typed);
  const names = useQuery({ queryKey: ['metrics', wanted], queryFn: () => client.system.metricNames(wanted) });
  const choose = (text: string) => {
    setTyped(text);
    onPattern(text);
  };
  return (
    <Section title="All metrics">
      <TextField
        label="Names that match"
        description="* stands for anything, such as http:* or sources:pull:*"
        value={typed}
        onText={choose}
        maw={360}
        type="search"
      />
      <Loaded query={names}>
        {(found) => (
          <>
            <Text size="sm" c="dimmed" role="status">
              {found.length === 1 ? '1 name matches' : `${found.length.toLocaleString('en')} names match`}
              {typed !== '' && found.length > CHARTS_MAX && `; the first ${CHARTS_MAX} are shown as charts`}.
            </Text>
            {typed !== '' && (
              <div className="columns">
                {found.slice(0, CHARTS_MAX).map((name) => (
                  <Metric key={name} metric={name} title={name} {...range} />
                ))}
              </div>
            )}
            <MetricNames names={typed === '' ? found : found.slice(CHARTS_MAX)} onChoose={choose} />
          </>
        )}
      </Loaded>
    </Section>
  );
}

function MetricNames({ names, onChoose }: { readonly names: readonly string[]; onChoose: (name: string) => void }) {
  if (names.length === 0) return null;
  return (
    <div className="card metric-names">
      {names.slice(0, NAMES_MAX).map((name) => (
        <Anchor key={name} component="button" type="button" size="sm" ta="left" onClick={() => onChoose(name)}>
          <Breakable text={name} />
        </Anchor>
      ))}
      {names.length > NAMES_MAX && (
        <Text size="sm" c="dimmed">
          and {(names.length - NAMES_MAX).toLocaleString('en')} more: type a part of the name between two *
        </Text>
      )}
    </div>
  );
}

type MetricProps = Range & StatChart;

function Metric({ metric: name, title, hours, isCompared }: MetricProps) {
  const minutes = hours * 60 * (isCompared ? 2 : 1);
  const query = useQuery({
    queryKey: ['metric', name, minutes],
    queryFn: () => client.system.metric(name, { start: -minutes }),
  });
  const csv = query.data !== undefined && (
    <Button
      size="compact-xs"
      variant="default"
      onClick={() => saveFile(`${name}.csv`, 'text/csv', csvOf(query.data))}
      aria-label={`Save ${name} as CSV`}
    >
      CSV
    </Button>
  );
  return (
    <Section title={<Breakable text={title} />} actions={csv}>
      <Loaded query={query}>
        {(steps) => <Bars metric={name} steps={steps} title={title} hours={hours} isCompared={isCompared} />}
      </Loaded>
    </Section>
  );
}

/** A long name that breaks after its separators, and not within `/:`. */
function Breakable({ text }: { readonly text: string }) {
  return text.split(/(?<=\/|[^/]:)/).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a name have no other identity
    <Fragment key={index}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function csvOf(steps: readonly StatStep[]): readonly string[] {
  const lines = steps.map(({ at, count, sum, min, max }) =>
    [new Date(at * 1_000).toISOString(), count, sum, min, max].join(','),
  );
  return [`time,count,sum,min,max\n${lines.join('\n')}\n`];
}
