import { Button, Chip, Group, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ActivityKind } from '@tidemark/protocol';
import { useState } from 'react';
import { type ActivityFeed, useActivity } from '../api/activity.ts';
import { TextField } from '../components/fields.tsx';
import { Page } from '../components/page.tsx';
import { ActivityLines } from './activity-lines.tsx';

const KINDS: readonly ActivityKind[] = ['push', 'pull', 'upload', 'refresh', 'ping', 'login', 'refusal'];

/** The filters, which are part of the address. */
interface Filters {
  readonly user?: string;
  readonly device?: string;
  readonly source?: string;
  readonly kinds?: string;
}

export function Activity() {
  const filters = useSearch({ strict: false }) as Filters;
  const navigate = useNavigate();
  const [isPaused, setPaused] = useState(false);
  const [request, setRequest] = useState<string | null>(null);
  const feed = useActivity(filterOf(filters), !isPaused);
  const change = (changes: Filters) =>
    void navigate({ to: '/activity', search: { ...filters, ...changes } as never, replace: true });
  return (
    <Page
      title="Activity"
      about="What happens on all servers, as it happens. It begins when this screen opens."
      actions={
        <Button size="sm" variant="default" onClick={() => setPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </Button>
      }
    >
      <Group gap="sm" align="end">
        <TextField
          label="User"
          size="xs"
          value={filters.user ?? ''}
          onText={(user) => change({ user: user || undefined } as Filters)}
        />
        <TextField
          label="Device"
          size="xs"
          value={filters.device ?? ''}
          onText={(device) => change({ device: device || undefined } as Filters)}
        />
        <TextField
          label="Source"
          size="xs"
          value={filters.source ?? ''}
          onText={(source) => change({ source: source || undefined } as Filters)}
        />
        <Chip.Group
          multiple
          value={kindsIn(filters)}
          onChange={(kinds) => change({ kinds: kinds.join(',') || undefined } as Filters)}
        >
          <Group gap={4} role="group" aria-label="Kinds">
            {KINDS.map((kind) => (
              <Chip key={kind} value={kind} size="xs">
                {kind}
              </Chip>
            ))}
          </Group>
        </Chip.Group>
      </Group>
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
    </Page>
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
