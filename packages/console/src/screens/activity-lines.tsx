import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ActivityEvent, ActivityKind } from '@tidemark/protocol';
import { useState } from 'react';
import type { ActivityFeed, ActivityLine } from '../api/activity.ts';
import { bytesText } from '../components/bytes-text.ts';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Dialog } from '../components/dialog.tsx';
import { JsonView } from '../components/json-view.tsx';
import { NameLink } from '../components/name-link.tsx';
import { StateBadge, type Tone } from '../components/state-badge.tsx';
import { DeviceLink } from './device-link.tsx';

const TONES: Readonly<Record<ActivityKind, Tone>> = {
  push: 'busy',
  pull: 'plain',
  upload: 'busy',
  refresh: 'plain',
  ping: 'warn',
  login: 'plain',
  refusal: 'bad',
  backend: 'bad',
};

/** Says what happened, without who and where. */
function wordsOfEvent(event: ActivityEvent): string {
  switch (event.kind) {
    case 'push':
      return `${event.operation}: ${event.changed} changed${event.unchanged === 0 ? '' : `, ${event.unchanged} unchanged`}, now at seq ${event.seq}`;
    case 'pull':
      return `${counted(event.objects, 'object')}, about ${bytesText(event.bytes)}${event.reset === null ? '' : `; starts over: ${event.reset}`}`;
    case 'upload':
      return `${event.op} ${event.object_id}: ${event.status}${event.code === null ? '' : ` (${event.code})`}`;
    case 'refresh':
      return event.code === null ? `done in ${event.duration_ms} ms` : `failed: ${event.code}`;
    case 'ping':
      return event.status === null ? `goes to ${counted(event.devices, 'device')}` : `result: ${event.status}`;
    case 'login':
      return `${event.as}${event.code === null ? '' : `, refused: ${event.code}`}`;
    case 'refusal':
      return `${event.method} ${event.route ?? 'an unknown path'}: ${event.status} ${event.code}`;
    case 'backend':
      return `${event.call} failed: ${event.reason}`;
  }
}

function columnsOf(onOpen: (line: ActivityLine) => void): readonly Column<ActivityLine>[] {
  return [
    { title: 'Time', cell: ({ event: { at } }) => <time dateTime={at}>{timeWords(at)}</time> },
    { title: 'Kind', cell: ({ event }) => <StateBadge tone={toneOf(event)}>{event.kind}</StateBadge> },
    {
      title: 'What',
      cell: (line) => (
        <button
          type="button"
          className="name plain sentence"
          aria-haspopup="dialog"
          onClick={() => onOpen(line)}
          title="Show all of it"
        >
          {wordsOfEvent(line.event)}
        </button>
      ),
    },
    {
      title: 'Source',
      cell: ({ event: { source } }) => (source === null ? '–' : <NameLink kind="source" name={source} isBrief />),
    },
    {
      title: 'User',
      cell: ({ event: { user_id } }) => (user_id === null ? '–' : <NameLink kind="user" name={user_id} isBrief />),
    },
    {
      title: 'Device',
      cell: ({ event: { client_id } }) => (client_id === null ? '–' : <DeviceLink id={client_id} />),
    },
  ];
}

/** The time, with the date unless it was today. */
function timeWords(at: string): string {
  const moment = new Date(at);
  const isToday = moment.getTime() >= new Date().setHours(0, 0, 0, 0);
  return isToday ? moment.toLocaleTimeString() : moment.toLocaleString();
}

const BAD_PING = new Set<string | null>(['failed', 'gone', 'retired']);

/** What failed is red, whatever its kind. */
function toneOf(event: ActivityEvent): Tone {
  const isBad =
    (event.kind === 'upload' && (event.status === 'rejected' || event.status === 'conflict')) ||
    ((event.kind === 'refresh' || event.kind === 'login') && event.code !== null) ||
    (event.kind === 'ping' && BAD_PING.has(event.status));
  return isBad ? 'bad' : TONES[event.kind];
}

interface ActivityLinesProps {
  readonly feed: ActivityFeed;
  readonly empty: string;
  /** Shows only the lines of a request. Absent: there is no such choice. */
  readonly onRequest?: (requestId: string) => void;
  /** True: the lines are those of the last day, and lead to others of it. */
  readonly isPast?: boolean;
}

/** The lines of the activity. A line opens to all of its facts, and leads to those of its request, device and user. */
export function ActivityLines({ feed, empty, onRequest, isPast = false }: ActivityLinesProps) {
  const { lines, dropped, state } = feed;
  const [open, setOpen] = useState<ActivityLine | null>(null);
  return (
    <Stack gap="sm">
      {state === 'broken' && (
        <Alert color="yellow" title="The connection is broken" role="alert">
          What happens meanwhile is not shown. The console connects again by itself.
        </Alert>
      )}
      {dropped > 0 && (
        <Text size="sm" c="dimmed">
          {counted(dropped, 'event')} left out: the server is busy.
        </Text>
      )}
      {lines.length === 0 ? (
        <Text size="sm" c="dimmed" className="card" role="status">
          {state === 'live' ? empty : 'Connecting …'}
        </Text>
      ) : (
        <DataTable label="Activity" rows={lines} keyOf={({ key }) => String(key)} columns={columnsOf(setOpen)} />
      )}
      <Dialog title="What happened" isOpen={open !== null} onClose={() => setOpen(null)}>
        {open !== null && (
          <Detail
            event={open.event}
            isPast={isPast}
            onRequest={
              onRequest === undefined
                ? undefined
                : (id) => {
                    onRequest(id);
                    setOpen(null);
                  }
            }
            onClose={() => setOpen(null)}
          />
        )}
      </Dialog>
    </Stack>
  );
}

interface DetailProps {
  readonly event: ActivityEvent;
  readonly isPast: boolean;
  readonly onRequest: ((requestId: string) => void) | undefined;
  readonly onClose: () => void;
}

function Detail({ event, isPast, onRequest, onClose }: DetailProps) {
  const { request_id, client_id, user_id } = event;
  const view = { view: isPast ? 'past' : '' };
  return (
    <Stack gap="md">
      <Text size="sm" className="long">
        <b>{event.kind}</b> {wordsOfEvent(event)}
      </Text>
      <JsonView label="The event" value={event} />
      <Group gap="xs">
        {request_id !== null && onRequest !== undefined && (
          <Button size="compact-sm" variant="default" onClick={() => onRequest(request_id)}>
            Show all of this request
          </Button>
        )}
        {client_id !== null && (
          <LineLink to="/activity" search={{ ...view, device: client_id }} onClick={onClose}>
            Show all of this device
          </LineLink>
        )}
        {user_id !== null && (
          <LineLink to="/activity" search={{ ...view, user: user_id }} onClick={onClose}>
            Show all of this user
          </LineLink>
        )}
        {client_id !== null && <DeviceLink id={client_id} />}
      </Group>
    </Stack>
  );
}

interface LineLinkProps {
  readonly to: string;
  readonly search: Readonly<Record<string, string>>;
  readonly onClick: () => void;
  readonly children: string;
}

function LineLink({ to, search, onClick, children }: LineLinkProps) {
  return (
    <Button
      size="compact-sm"
      variant="default"
      component={Link}
      {...({ to, search } as { readonly to: string })}
      onClick={onClick}
    >
      {children}
    </Button>
  );
}
