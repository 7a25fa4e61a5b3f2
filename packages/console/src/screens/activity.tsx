import { Button, Chip, Group, Switch, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { ActivityHistoryPage, ActivityKind } from '@tidemark/protocol';
import { useState } from 'react';
import { type ActivityFeed, useActivity } from '../api/activity.ts';
import { client } from '../api/client.ts';
import { counted } from '../components/counted.ts';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { useAddress } from '../components/use-address.ts';
import { ActivityLines } from './activity-lines.tsx';

const KINDS: readonly ActivityKind[] = ['push', 'pull', 'upload', 'refresh', 'ping', 'login', 'refusal', 'backend'];

/** The filters, which are part of the address. */
interface Filters {
  readonly user?: string;
  readonly device?: string;
  readonly source?: string;
  readonly kinds?: string;
  /** `past`: what happened, instead of what happens. */
  readonly view?: string;
  /** `yes`: of the past only refusals and failures. */
  readonly failed?: string;
  readonly text?: string;
}

const PAGE_EVENTS = 100;

export function Activity() {
  const [filters, change] = useAddress<Filters>('/activity');
  const [isPaused, setPaused] = useState(false);
  const isPast = filters.view === 'past';
  return (
    <Page
      title="Activity"
      about={
        isPast
          ? 'What happened on all servers: every refusal, failure and ping, and a sample of what succeeded.'
          : 'What happens on all servers, as it happens, after the last 200 events.'
      }
      actions={
        <Group gap="sm">
          <Chip.Group value={isPast ? 'past' : 'live'} onChange={(view) => change({ view: String(view) })}>
            <Group gap={4} role="group" aria-label="View">
              <Chip value="live" size="sm">
                Live
              </Chip>
              <Chip value="past" size="sm">
                Last day
              </Chip>
            </Group>
          </Chip.Group>
          {!isPast && (
            <Button size="sm" variant="default" onClick={() => setPaused(!isPaused)}>
              {isPaused ? 'Continue' : 'Pause'}
            </Button>
          )}
        </Group>
      }
    >
      <FilterFields filters={filters} change={change} />
      {isPast ? <PastLines filters={filters} change={change} /> : <LiveLines filters={filters} isPaused={isPaused} />}
    </Page>
  );
}

interface FilterProps {
  readonly filters: Filters;
  readonly change: (changes: Filters) => void;
}

const FIELDS = [
  ['User', 'user'],
  ['Device id', 'device'],
  ['Source', 'source'],
] as const;

function FilterFields({ filters, change }: FilterProps) {
  return (
    <Group gap="sm" align="end">
      {FIELDS.map(([label, name]) => (
        <TextField
          key={name}
          label={label}
          size="xs"
          value={filters[name] ?? ''}
          onText={(text) => change({ [name]: text })}
        />
      ))}
      <Chip.Group multiple value={kindsIn(filters)} onChange={(kinds) => change({ kinds: kinds.join(',') })}>
        <Group gap={4} role="group" aria-label="Kinds">
          {KINDS.map((kind) => (
            <Chip key={kind} value={kind} size="xs">
              {kind}
            </Chip>
          ))}
        </Group>
      </Chip.Group>
    </Group>
  );
}

function LiveLines({ filters, isPaused }: { readonly filters: Filters; readonly isPaused: boolean }) {
  const [request, setRequest] = useState<string | null>(null);
  const feed = useActivity(filterOf(filters), !isPaused);
  return (
    <>
      {request !== null && (
        <Group gap="xs">
          <Text size="sm" className="long">
            Only the request {request}, among the lines that have arrived.
          </Text>
          <Button size="compact-sm" variant="default" onClick={() => setRequest(null)}>
            Show all
          </Button>
        </Group>
      )}
      <ActivityLines
        feed={ofRequest(feed, request)}
        empty={isPaused ? 'Paused.' : 'Nothing has happened yet. Push something, or let a device sync.'}
        onRequest={setRequest}
      />
    </>
  );
}

/** What happened, page by page. */
function PastLines({ filters, change }: FilterProps) {
  const isFailedOnly = filters.failed === 'yes';
  const text = filters.text ?? '';
  const wanted = { ...filterOf(filters), failed: isFailedOnly, ...(text === '' ? {} : { text }) };
  const query = useInfiniteQuery({
    queryKey: ['activity', wanted],
    queryFn: ({ pageParam: after }) =>
      client.activity.history({ ...wanted, limit: PAGE_EVENTS, ...(after === null ? {} : { after }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  return (
    <>
      <Group gap="md" align="end">
        <TextField
          label="Text"
          size="xs"
          placeholder="code, route, request"
          value={text}
          onText={(part) => change({ text: part })}
        />
        <Switch
          label="Only refusals and failures"
          checked={isFailedOnly}
          onChange={(event) => change({ failed: event.currentTarget.checked ? 'yes' : '' })}
        />
        <Button size="xs" variant="default" onClick={() => void query.refetch()} loading={query.isRefetching}>
          Read again
        </Button>
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const lines = pages.flatMap(({ events }) => events).map((event, key) => ({ key, event }));
          const empty = query.hasNextPage
            ? 'None among the newest. Older ones may match.'
            : `${isFailedOnly ? 'No refusal or failure' : 'Nothing'} of the kind has happened.`;
          return (
            <>
              <Kept pages={pages} />
              <ActivityLines
                feed={{ lines, dropped: 0, state: 'live' }}
                isPast
                empty={empty}
                onRequest={(id) => change({ text: id, failed: '' })}
              />
              {lines.length === 0 && isFailedOnly && (
                <Group>
                  <Button size="compact-sm" variant="default" onClick={() => change({ failed: '' })}>
                    Show what succeeded, too
                  </Button>
                </Group>
              )}
            </>
          );
        }}
      </Loaded>
      <PagesButton query={query}>Older events</PagesButton>
    </>
  );
}

/** Says how far back events are kept, and how many are missing. */
function Kept({ pages }: { readonly pages: readonly ActivityHistoryPage[] }) {
  const since = pages[0]?.complete_from ?? '';
  const leftOut = pages.reduce((sum, { left_out }) => sum + left_out, 0);
  return (
    <Text size="sm" c="dimmed">
      Kept since {new Date(since).toLocaleString()}.
      {leftOut > 0 && ` ${counted(leftOut, 'failure')} left out: there were too many in a minute.`}
    </Text>
  );
}

function kindsIn({ kinds = '' }: Filters): ActivityKind[] {
  return KINDS.filter((kind) => kinds.split(',').includes(kind));
}

function filterOf(filters: Filters) {
  const { user, device, source } = filters;
  const kinds = kindsIn(filters);
  return {
    ...(user ? { user } : {}),
    ...(device ? { client: device } : {}),
    ...(source ? { source } : {}),
    ...(kinds.length > 0 ? { kinds } : {}),
  };
}

function ofRequest(feed: ActivityFeed, request: string | null): ActivityFeed {
  if (request === null) return feed;
  return { ...feed, lines: feed.lines.filter(({ event }) => event.request_id === request) };
}
