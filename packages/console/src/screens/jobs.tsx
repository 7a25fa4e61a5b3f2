import { Group, NativeSelect, Text } from '@mantine/core';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useParams } from '@tanstack/react-router';
import { TidemarkError } from '@tidemark/backend';
import type { Job, JobQueue, JobState } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { type ApiCall, quoted } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { durationOf, Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { StateBadge } from '../components/state-badge.tsx';

const REFRESH_MS = 10_000;
const PAGE_JOBS = 100;
/** Dead jobs that one action works on. */
const DEAD_MAX = 1_000;
const STATES: readonly JobState[] = ['dead', 'due', 'delayed', 'waiting', 'leased'];

const QUEUES: readonly Column<JobQueue>[] = [
  {
    title: 'Queue',
    cell: ({ queue }) => <NameLink kind="queue" name={queue} />,
  },
  {
    title: 'State',
    cell: ({ paused }) => <StateBadge tone={paused ? 'warn' : 'good'}>{paused ? 'paused' : 'running'}</StateBadge>,
  },
  { title: 'Due', cell: ({ counts }) => counts.due, isNumber: true },
  { title: 'Running', cell: ({ counts }) => counts.leased, isNumber: true },
  { title: 'Later', cell: ({ counts }) => counts.delayed + counts.waiting, isNumber: true },
  { title: 'Dead', cell: ({ counts }) => counts.dead, isNumber: true },
  {
    title: 'Oldest has waited',
    cell: ({ counts, lag_ms }) => (counts.due === 0 ? '–' : durationOf(lag_ms)),
    isNumber: true,
  },
];

export function Jobs() {
  const query = useQuery({ queryKey: ['queues'], queryFn: () => client.jobs.queues(), refetchInterval: REFRESH_MS });
  return (
    <Page title="Jobs" about="Work that the server does in the background: uploads, refreshes and pings.">
      <Loaded query={query}>
        {(queues) =>
          queues.length === 0 ? (
            <Empty title="Nothing waits" cli={`tidemark --url ${SERVER_URL} sources set Order --cud-queue uploads`}>
              A queue appears when it has jobs or is paused. This command sends the uploads of a source through a queue.
            </Empty>
          ) : (
            <DataTable label="Queues" rows={queues} keyOf={({ queue }) => queue} columns={QUEUES} />
          )
        }
      </Loaded>
    </Page>
  );
}

export function Queue() {
  const { queue } = useParams({ strict: false }) as { readonly queue: string };
  const [state, setState] = useState<JobState>('dead');
  const view = useQuery({
    queryKey: ['queues', queue],
    queryFn: () => client.jobs.queue(queue),
    refetchInterval: REFRESH_MS,
  });
  const isAdmin = useIsAdmin();
  const isPaused = view.data?.paused === true;
  return (
    <Page
      title={queue}
      parent={{ title: 'Jobs', to: '/jobs' }}
      actions={isAdmin && view.data !== undefined && <Pause queue={queue} isPaused={isPaused} />}
    >
      <Loaded query={view}>
        {({ counts, lag_ms }) => (
          <Group gap="lg" align="end">
            <NativeSelect
              label="Jobs that are"
              value={state}
              onChange={(event) => setState(event.currentTarget.value as JobState)}
              data={STATES.map((value) => ({ value, label: `${value} (${counts[value]})` }))}
            />
            <Text size="sm" c="dimmed">
              {stateWords({ isPaused, due: counts.due, lagMs: lag_ms })}
            </Text>
          </Group>
        )}
      </Loaded>
      {isAdmin && state === 'dead' && (view.data?.counts.dead ?? 0) > 0 && <AllDead queue={queue} />}
      <JobList key={state} queue={queue} state={state} />
    </Page>
  );
}

function stateWords({ isPaused, due, lagMs }: { isPaused: boolean; due: number; lagMs: number }): string {
  if (isPaused) return 'The queue is paused.';
  return due === 0 ? 'No job is due.' : `The oldest due job has waited ${durationOf(lagMs)}.`;
}

function Pause({ queue, isPaused }: { readonly queue: string; readonly isPaused: boolean }) {
  const call: ApiCall = (api) => (isPaused ? api.jobs.resume(queue) : api.jobs.pause(queue));
  const verb = isPaused ? 'Resume' : 'Pause';
  return (
    <Action label={verb} title={`${verb} the queue`} verb={verb} button={{ variant: 'default' }} call={call}>
      {isPaused ? 'Its jobs run again.' : 'No job of the queue begins until it is resumed. Jobs under way finish.'}
    </Action>
  );
}

/** Retries or removes the dead jobs of a queue, one call each. */
function AllDead({ queue }: { readonly queue: string }) {
  const curl = (line: string) =>
    `curl ${quoted(`${SERVER_URL}/rc/v1/jobs/${encodeURIComponent(queue)}/jobs?state=dead&limit=${DEAD_MAX}`)} \\\n  -H "X-Sync-API-TOKEN: $TOKEN" | jq -r '.jobs[].id' | while read id; do\n  ${line}; done`;
  const one = `${SERVER_URL}/rc/v1/jobs/${encodeURIComponent(queue)}/jobs/$id`;
  return (
    <Group gap="xs">
      <Action
        label="Retry all dead jobs"
        title="Retry all dead jobs"
        verb="Retry jobs"
        button={{ variant: 'default', size: 'xs' }}
        call={(api) => forEachDead(queue, (id) => api.jobs.retry(queue, id))}
        curl={curl(`curl -X POST "${one}/retry" -H "X-Sync-API-TOKEN: $TOKEN"`)}
      >
        The first {DEAD_MAX.toLocaleString('en')} dead jobs are due again, with all their attempts.
      </Action>
      <Action
        label="Remove all dead jobs"
        title="Remove all dead jobs"
        verb="Remove dead jobs"
        button={{ variant: 'light', color: 'red', size: 'xs' }}
        typedName={queue}
        call={(api) => forEachDead(queue, (id) => api.jobs.remove(queue, id))}
        curl={curl(`curl -X DELETE "${one}" -H "X-Sync-API-TOKEN: $TOKEN"`)}
      >
        The first {DEAD_MAX.toLocaleString('en')} dead jobs are deleted without being run. This cannot be undone.
      </Action>
    </Group>
  );
}

/** Calls the API for each dead job. A job that somebody else has retried or removed meanwhile is left out. */
async function forEachDead(queue: string, call: (id: string) => Promise<unknown>): Promise<void> {
  const { jobs } = await client.jobs.inspect(queue, { state: 'dead', limit: DEAD_MAX });
  for (const { id } of jobs) {
    await call(id).catch((error: unknown) => {
      const isGone =
        error instanceof TidemarkError && (error.code === 'job_not_found' || error.code === 'job_not_idle');
      if (!isGone) throw error;
    });
  }
}

function JobList({ queue, state }: { readonly queue: string; readonly state: JobState }) {
  const query = useInfiniteQuery({
    queryKey: ['jobs', queue, state],
    queryFn: ({ pageParam: after }) =>
      client.jobs.inspect(queue, { state, limit: PAGE_JOBS, ...(after === null ? {} : { after }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  const isAdmin = useIsAdmin();
  return (
    <>
      <Loaded query={query}>
        {({ pages }) => {
          const jobs = pages.flatMap((page) => page.jobs);
          return jobs.length === 0 ? (
            <Empty title={`No job is ${state}`}>Choose another state above to see other jobs of this queue.</Empty>
          ) : (
            <DataTable label="Jobs" rows={jobs} keyOf={({ id }) => id} columns={jobColumns(queue, isAdmin)} />
          );
        }}
      </Loaded>
      <PagesButton query={query}>More jobs</PagesButton>
    </>
  );
}

function jobColumns(queue: string, isAdmin: boolean): readonly Column<Job>[] {
  return [
    {
      title: 'Job',
      cell: ({ id }) => (
        <span className="name" title={id}>
          {id}
        </span>
      ),
    },
    { title: 'Kind', cell: ({ kind }) => kind },
    { title: 'Attempts', cell: ({ attempt, attempts_max }) => `${attempt} of ${attempts_max}`, isNumber: true },
    { title: 'Enqueued', cell: ({ enqueued_at }) => <Moment at={enqueued_at} /> },
    { title: 'Reason', cell: ({ last_reason }) => <span className="long">{last_reason ?? '–'}</span> },
    ...(isAdmin ? [{ title: 'Actions', cell: (job: Job) => <JobActions queue={queue} job={job} /> }] : []),
  ];
}

function JobActions({ queue, job: { id, state } }: { readonly queue: string; readonly job: Job }) {
  return (
    <Group gap={6} wrap="nowrap">
      {state === 'dead' && (
        <Action
          label="Retry"
          title="Retry the job"
          verb="Retry"
          button={{ variant: 'default', size: 'compact-sm' }}
          call={(api) => api.jobs.retry(queue, id)}
        >
          The job is due again, with all its attempts.
        </Action>
      )}
      <Action
        label="Remove"
        title="Remove the job"
        verb="Remove job"
        button={{ variant: 'light', color: 'red', size: 'compact-sm' }}
        typedName={id}
        call={(api) => api.jobs.remove(queue, id)}
      >
        The job is deleted without being run.
      </Action>
    </Group>
  );
}
