import { Alert, Badge, Group, Progress, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import type { ConnectorCheck, Connector as ConnectorFacts, ConnectorTable } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { bytesText } from '../components/bytes-text.ts';
import { Empty } from '../components/command.tsx';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { durationOf, Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { StateBadge, type Tone } from '../components/state-badge.tsx';

const REFRESH_MS = 5_000;
const ABOUT = 'Databases whose rows become objects on devices.';

const TONES: Readonly<Record<ConnectorFacts['state'], Tone>> = {
  starting: 'busy',
  connecting: 'busy',
  streaming: 'good',
  waiting: 'bad',
  stopped: 'plain',
};

const COLUMNS: readonly Column<ConnectorFacts>[] = [
  { title: 'Connector', cell: ({ name }) => <NameLink kind="connector" name={name} /> },
  { title: 'State', cell: (connector) => <State connector={connector} /> },
  { title: 'Behind', cell: ({ lag_ms }) => durationOf(lag_ms), isNumber: true },
  { title: 'Rows / s', cell: ({ rows_per_s }) => rows_per_s, isNumber: true },
  { title: 'Tables', cell: ({ tables }) => tablesText(tables) },
  { title: 'Reported', cell: ({ reported_at }) => <Moment at={reported_at} /> },
];

export function Connectors() {
  const query = useQuery({
    queryKey: ['connectors'],
    queryFn: () => client.connectors.list(),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Page title="Connectors" about={ABOUT}>
      <Loaded query={query}>
        {(connectors) =>
          connectors.length === 0 ? (
            <Empty title="No database is connected" cli="tidemark connect postgres --init">
              This command reads the tables of a Postgres database and writes a mapping of tables to sources. Then name
              the database under “connectors” in the configuration of the server, or run “tidemark connect postgres” as
              a service. The page “Connecting Postgres” of the documentation, at /docs/guides/postgres, has every step.
            </Empty>
          ) : (
            <DataTable label="Connectors" rows={connectors} keyOf={({ name }) => name} columns={COLUMNS} />
          )
        }
      </Loaded>
    </Page>
  );
}

export function Connector() {
  const { name } = useParams({ strict: false }) as { readonly name: string };
  const query = useQuery({
    queryKey: ['connectors', name],
    queryFn: () => client.connectors.get(name),
    refetchInterval: REFRESH_MS,
  });
  const isAdmin = useIsAdmin();
  return (
    <Page
      title={name}
      parent={{ title: 'Connectors', to: '/connectors' }}
      actions={isAdmin && query.data !== undefined && <Actions connector={query.data} />}
    >
      <Loaded query={query}>{(connector) => <Details connector={connector} />}</Loaded>
    </Page>
  );
}

function Details({ connector }: { readonly connector: ConnectorFacts }) {
  const { faults, tables, problems, waiting } = connector;
  return (
    <Stack gap="lg">
      {faults.length > 0 && (
        <Alert color="red" title="Somebody should look at this" role="alert">
          {faults.map(({ code, message }) => (
            <Text key={code} size="sm" className="long">
              {sentence(message)}
            </Text>
          ))}
        </Alert>
      )}
      <Overview connector={connector} />
      <Section title="Replication slot">
        <Slot slot={connector.slot} />
      </Section>
      <Section title="Tables">
        <DataTable label="Tables" rows={tables} keyOf={({ table }) => table} columns={TABLES} />
      </Section>
      {problems.count > 0 && (
        <Section title={`${counted(problems.count, 'row')} cannot be stored`}>
          <DataTable
            label="Rows that cannot be stored"
            rows={problems.samples}
            keyOf={({ table, key }) => `${table} ${key}`}
            columns={PROBLEMS}
          />
        </Section>
      )}
      {waiting.count > 0 && (
        <Section title="Rows wait for">
          <DataTable
            label="What rows wait for"
            rows={waiting.samples}
            keyOf={({ kind, table, name }) => `${kind} ${table} ${name}`}
            columns={WAITING}
          />
        </Section>
      )}
    </Stack>
  );
}

function Overview({ connector }: { readonly connector: ConnectorFacts }) {
  const { lag_ms, fresh_at, position, rows_total, rows_per_s, server, runs_in, reported_at, error, healed } = connector;
  return (
    <Facts
      facts={[
        ['State', <State key="state" connector={connector} />],
        ['Behind', durationOf(lag_ms)],
        ['Everything was here', fresh_at === null ? 'not yet' : <Moment key="fresh" at={fresh_at} />],
        ['Position', position ?? 'none yet'],
        ['Rows', `${rows_total.toLocaleString('en')} since it began, ${rows_per_s.toLocaleString('en')} per second`],
        [
          'Runs in',
          `${runs_in === 'server' ? 'a server' : 'a process of its own'}${server === null ? '' : `: ${server}`}`,
        ],
        ['Last report', <Moment key="reported" at={reported_at} />],
        error === null ? ['Last failure', 'none'] : ['Last failure', error.message, timeOf(error.at)],
        healed === null
          ? ['Compared everything', 'not since it began']
          : ['Compared everything', healed.reason, timeOf(healed.at)],
      ]}
    />
  );
}

function State({ connector: { state, faults } }: { readonly connector: ConnectorFacts }) {
  const isBehind = faults.length > 0 && state === 'streaming';
  return (
    <Group gap="xs">
      <StateBadge tone={isBehind ? 'warn' : TONES[state]}>{state}</StateBadge>
      {faults.map(({ code }) => (
        <StateBadge key={code} tone="bad">
          {code.replaceAll('_', ' ')}
        </StateBadge>
      ))}
    </Group>
  );
}

function Slot({ slot }: Pick<ConnectorFacts, 'slot'>) {
  if (slot === null) {
    return (
      <Text size="sm" c="dimmed">
        The database could not be asked, or the slot has not been made yet.
      </Text>
    );
  }
  return (
    <Facts
      isDense
      facts={[
        ['Name', slot.name],
        ['Is read', slot.active ? 'yes' : 'no'],
        ['Log of Postgres', slot.invalidation_reason ?? slot.wal_status ?? 'unknown'],
        ['Log kept for it', slot.retained_bytes === null ? 'unknown' : bytesText(slot.retained_bytes)],
        ['Log left', slot.safe_bytes === null ? 'no limit is set' : bytesText(slot.safe_bytes)],
        ['On standbys', slot.failover ? 'yes' : 'no'],
      ]}
    />
  );
}

const TABLES: readonly Column<ConnectorTable>[] = [
  { title: 'Table', cell: ({ table }) => <code className="long">{table}</code> },
  { title: 'Source', cell: ({ source }) => (source === null ? '–' : <NameLink kind="source" name={source} />) },
  { title: 'Phase', cell: ({ phase }) => <StateBadge tone={phase === 'ready' ? 'good' : 'busy'}>{phase}</StateBadge> },
  { title: 'Progress', cell: (table) => <TableProgress table={table} /> },
  { title: 'Rows', cell: ({ rows }) => rows.toLocaleString('en'), isNumber: true },
  { title: 'Rows / s', cell: ({ rows_per_s }) => rows_per_s.toLocaleString('en'), isNumber: true },
];

function TableProgress({ table: { table, percent, phase } }: { readonly table: ConnectorTable }) {
  if (percent === null) return <span>unknown</span>;
  return (
    <Group gap="xs" wrap="nowrap">
      <Progress.Root w={96} size="md">
        <Progress.Section
          value={percent}
          color={phase === 'ready' ? 'green' : 'blue'}
          aria-label={`Progress of ${table}`}
        />
      </Progress.Root>
      <span>{percent} %</span>
    </Group>
  );
}

const PROBLEMS: readonly Column<ConnectorFacts['problems']['samples'][number]>[] = [
  { title: 'Table', cell: ({ table }) => <code className="long">{table}</code> },
  { title: 'Key', cell: ({ key }) => <code className="long">{key}</code> },
  { title: 'Reason', cell: ({ reason }) => reason },
];

const WAITING: readonly Column<ConnectorFacts['waiting']['samples'][number]>[] = [
  { title: 'Missing', cell: ({ kind, name }) => `${kind} ${name}` },
  { title: 'Table', cell: ({ table }) => <code className="long">{table}</code> },
];

function Actions({ connector: { name, is_configured } }: { readonly connector: ConnectorFacts }) {
  if (is_configured) {
    return (
      <Action
        label="Check the database"
        title="Check the database"
        verb="Check"
        button={{ variant: 'default' }}
        call={(api) => api.connectors.check(name)}
        showAnswer={(answer) => <Findings findings={(answer as ConnectorCheck).findings} />}
      >
        Tidemark asks the database for everything that a connector needs, and changes nothing.
      </Action>
    );
  }
  return (
    <Action
      label="Forget"
      title="Forget the connector"
      verb="Forget connector"
      button={{ variant: 'light', color: 'red' }}
      typedName={name}
      call={(api) => api.connectors.delete(name)}
    >
      Only its last report is deleted. Its sources, their objects and the slot in the database stay. A connector that
      still runs reports again.
    </Action>
  );
}

const LEVELS = { error: 'red', warning: 'yellow', notice: 'blue' } as const;

function Findings({ findings }: Pick<ConnectorCheck, 'findings'>) {
  if (findings.length === 0) return <Text size="sm">Nothing is missing.</Text>;
  return (
    <Stack gap="xs" role="status">
      {findings.map(({ code, level, message, sql }) => (
        <Group key={code + message} gap="sm" wrap="nowrap" align="start">
          <Badge color={LEVELS[level]} variant="light" miw={80}>
            {level}
          </Badge>
          <Stack gap={4}>
            <Text size="sm" className="long">
              {message}
            </Text>
            {sql.map((statement) => (
              <Text key={statement} component="code" size="sm" className="long">
                {`${statement};`}
              </Text>
            ))}
          </Stack>
        </Group>
      ))}
    </Stack>
  );
}

function tablesText(tables: readonly ConnectorTable[]): string {
  const ready = tables.filter(({ phase }) => phase === 'ready').length;
  return `${ready} of ${tables.length} ready`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}

function timeOf(at: string): string {
  return new Date(at).toLocaleString();
}
