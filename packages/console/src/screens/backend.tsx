import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { AppserverChecks, BackendFailure } from '@tidemark/protocol';
import { useState } from 'react';
import { client, readiness } from '../api/client.ts';
import type { Readiness } from '../api/readiness.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Command } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Failure, Loaded } from '../components/loaded.tsx';
import { durationOf, Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { StateBadge, type Tone } from '../components/state-badge.tsx';

const COLORS = { ok: 'green', warning: 'yellow', failed: 'red' } as const;
const REFRESH_MS = 5_000;

/** What the states of the circuit breaker mean. */
const STATES: Readonly<Record<string, readonly [Tone, string]>> = {
  unset: ['plain', 'no backend'],
  closed: ['good', 'answers'],
  trying: ['warn', 'is tried again'],
  open: ['bad', 'not called: it failed too often'],
};

export function Backend() {
  const appserver = useQuery({ queryKey: ['appserver'], queryFn: () => client.system.appserver() });
  const ready = useQuery({ queryKey: ['readiness'], queryFn: readiness, refetchInterval: REFRESH_MS });
  const isAdmin = useIsAdmin();
  const actions = isAdmin && (
    <>
      <CheckBackend />
      {appserver.data !== undefined && (
        <SetBackend key={appserver.data.adapter_url} address={appserver.data.adapter_url ?? ''} />
      )}
    </>
  );
  return (
    <Page
      title="Backend"
      about="The application that Tidemark fetches data from, sends uploads to, and checks logins with."
      actions={actions}
    >
      <Loaded query={appserver}>
        {({ adapter_url }) => (
          <Facts
            facts={[
              ['Address', adapter_url ?? 'none: only pushes fill the sources'],
              ['State', <State key="state" state={ready.data?.backend?.state ?? 'unset'} />],
              ['Failures in a row', ready.data?.backend?.failures ?? 0],
            ]}
          />
        )}
      </Loaded>
      <Section title="Calls by kind">
        <Loaded query={ready}>{({ backend }) => <Calls calls={Object.entries(backend?.calls ?? {})} />}</Loaded>
      </Section>
      {isAdmin && (
        <Section title="Last failures">
          <LastFailures />
        </Section>
      )}
      {isAdmin && (
        <Section title="Secret">
          <Secret />
        </Section>
      )}
    </Page>
  );
}

type Call = readonly [kind: string, state: NonNullable<NonNullable<Readiness['backend']>['calls']>[string]];

const CALLS: readonly Column<Call>[] = [
  { title: 'Calls', cell: ([kind]) => kind },
  { title: 'State', cell: ([, { state }]) => <State state={state} /> },
  { title: 'Failures in a row', cell: ([, { failures }]) => failures, isNumber: true },
  {
    title: 'Tried again',
    cell: ([, { until }]) => (until === null || until === undefined ? '–' : <Moment at={until} />),
  },
];

function Calls({ calls }: { readonly calls: readonly Call[] }) {
  if (calls.length === 0) {
    return (
      <Text size="sm" c="dimmed" className="card">
        There is no backend to call.
      </Text>
    );
  }
  return <DataTable label="Calls by kind" rows={calls} keyOf={([kind]) => kind} columns={CALLS} />;
}

const FAILURES: readonly Column<BackendFailure>[] = [
  { title: 'When', cell: ({ at }) => <Moment at={at} /> },
  { title: 'Call', cell: ({ call, source }) => (source === null ? call : `${call} of ${source}`) },
  {
    title: 'User',
    cell: ({ user_id }) => (user_id === null ? '–' : <NameLink kind="user" name={user_id} />),
  },
  { title: 'Status', cell: ({ status }) => status ?? 'none', isNumber: true },
  { title: 'Took', cell: ({ duration_ms }) => durationOf(duration_ms), isNumber: true },
  {
    title: 'What the backend said',
    cell: ({ reason, detail, webhook_id }) => (
      <span className="long" title={webhook_id}>
        {detail === null ? reason : <q>{detail}</q>}
      </span>
    ),
  },
];

function LastFailures() {
  const query = useQuery({
    queryKey: ['appserver', 'failures'],
    queryFn: () => client.system.appserverFailures(),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {({ failures }) =>
        failures.length === 0 ? (
          <Text size="sm" c="dimmed" className="card">
            No call has failed since the server started.
          </Text>
        ) : (
          <DataTable label="Last failures" rows={failures} keyOf={({ webhook_id }) => webhook_id} columns={FAILURES} />
        )
      }
    </Loaded>
  );
}

function State({ state }: { readonly state: string }) {
  const [tone, words] = STATES[state] ?? ['plain', state];
  return <StateBadge tone={tone}>{words}</StateBadge>;
}

/** The secret is only read when somebody asks for it. */
function Secret() {
  const [secret, setSecret] = useState<string | null | undefined>(undefined);
  const [error, setError] = useState<unknown>(null);
  const show = () => client.system.backendSecret().then(({ secret: shown }) => setSecret(shown), setError);
  return (
    <div className="card">
      <Stack gap="sm">
        <Text size="sm">Signs every call to the backend. The backend checks the signature with it.</Text>
        {error !== null && <Failure error={error} />}
        {secret === undefined && (
          <Group>
            <Button size="compact-sm" variant="default" onClick={() => void show()}>
              Show the secret
            </Button>
          </Group>
        )}
        {secret === null && <Text size="sm">It stands in the configuration of the server and is not shown.</Text>}
        {typeof secret === 'string' && <Command label="secret" text={secret} />}
      </Stack>
    </div>
  );
}

function SetBackend({ address }: { readonly address: string }) {
  const [url, setUrl] = useState(address);
  return (
    <Action
      label="Change address"
      title="Address of the backend"
      verb="Save address"
      button={{ variant: 'default' }}
      call={(api) => api.system.setAppserver(url === '' ? null : url)}
    >
      <TextField
        label="Address"
        description="Empty: there is no backend, and only pushes fill the sources."
        value={url}
        onText={setUrl}
        placeholder="https://app.example/tidemark"
        data-autofocus
      />
    </Action>
  );
}

function CheckBackend() {
  return (
    <Action
      label="Check the backend"
      title="Check the backend"
      verb="Check"
      button={{ variant: 'default' }}
      call={(api) => api.system.checkAppserver()}
      showAnswer={(answer) => <Checks checks={(answer as AppserverChecks).checks} />}
    >
      <Text size="sm">
        Tidemark calls the backend and looks at its answers: reachability, signature, logins, each source.
      </Text>
    </Action>
  );
}

function Checks({ checks }: Pick<AppserverChecks, 'checks'>) {
  return (
    <Stack gap="xs" role="status">
      {checks.map(({ name, status, detail }) => (
        <Group key={name} gap="sm" wrap="nowrap" align="start">
          <Badge color={COLORS[status]} variant="light" miw={80}>
            {status}
          </Badge>
          <Text size="sm" className="long">
            <b>{name}</b> {detail}
          </Text>
        </Group>
      ))}
    </Stack>
  );
}
