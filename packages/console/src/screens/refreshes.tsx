import { Alert, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { Source } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { type RefreshError, refreshErrorOf } from '../api/refresh-error.ts';
import { useSession } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts } from '../components/page.tsx';

const REFRESH_MS = 10_000;
/** How far back the last refresh is looked for. */
const MINUTES_SEARCHED = 1_440;

interface RefreshHistory {
  /** When the last refresh of a day succeeded; null: none did. */
  readonly succeededAt: string | null;
  readonly failedAt: string | null;
  /** Null: the last refresh succeeded, or the data belongs to users or groups. */
  readonly error: RefreshError | null;
}

/** When the backend was last queried for a source, and what went wrong. */
export function Refreshes({ source }: { readonly source: Source }) {
  const query = useQuery({
    queryKey: ['refreshes', source.name],
    queryFn: () => historyOf(source),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {({ succeededAt, failedAt, error }) => (
        <>
          {error !== null && (
            <Alert color="red" title="The last refresh failed" role="alert">
              <Text size="sm" className="long">
                Reason: {error.detail} ({error.code}). It failed {counted(error.failures, 'time')} in a row, and is
                tried again <Moment at={error.retry_at} /> at the earliest.
              </Text>
            </Alert>
          )}
          <Facts
            isDense
            facts={[
              ['Last refresh', succeededAt === null ? 'none in 24 hours' : <Moment key="at" at={succeededAt} />],
              ['Last failure', failedAt === null ? 'none in 24 hours' : <Moment key="failed" at={failedAt} />],
            ]}
          />
        </>
      )}
    </Loaded>
  );
}

async function historyOf({ name, partition_type }: Source): Promise<RefreshHistory> {
  const [succeededAt, failedAt, error] = await Promise.all([
    lastStepOf(`sources:query:${name}`),
    lastStepOf(`sources:query_failed:${name}`),
    partition_type === 'app' ? refreshErrorOf(name) : null,
  ]);
  return { succeededAt, failedAt, error };
}

async function lastStepOf(metric: string): Promise<string | null> {
  if (!(await client.system.metricNames(metric)).includes(metric)) return null;
  const steps = await client.system.metric(metric, { start: -MINUTES_SEARCHED });
  const last = steps.findLast(({ count }) => count > 0);
  return last === undefined ? null : new Date(last.at * 1_000).toISOString();
}

/** Makes the server query the backend again at the next sync. */
export function RefreshSource({ source: { name, partition_type } }: { readonly source: Source }) {
  const session = useSession().data?.session;
  const [user, setUser] = useState('');
  const isShared = partition_type === 'app';
  // For shared data the server takes any user.
  const whose = isShared ? (session?.user ?? '') : user;
  return (
    <Action
      label="Refresh"
      title="Refresh from the backend"
      verb="Refresh"
      button={{ variant: 'default' }}
      call={(api) => api.sources.refresh(name, whose)}
      isDisabled={whose === ''}
    >
      <Text size="sm">The data is due now: the backend is queried when the next device syncs it, and not before.</Text>
      {!isShared && <TextField label="User whose data is due" value={user} onText={setUser} data-autofocus />}
    </Action>
  );
}
