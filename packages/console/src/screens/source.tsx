import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import type { Source as SourceView } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { pushCurl, quoted } from '../api/curl.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Command } from '../components/command.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { MetricChart } from './metric-chart.tsx';
import { ownerBody, ownerFlag } from './object-owner.ts';
import { Receipts } from './receipts.tsx';
import { RecentPushes } from './recent-pushes.tsx';
import { Refreshes, RefreshSource } from './refreshes.tsx';
import { sampleAttributes } from './schema-sample.ts';
import { changesOf, formOf, problemsOf } from './source-attributes.ts';
import { SourceFields } from './source-form.tsx';
import { SourceSchema, schemaQuery } from './source-schema.tsx';
import { ownersOf } from './sources.tsx';

export function Source() {
  const { name } = useParams({ strict: false }) as { readonly name: string };
  const query = useQuery({ queryKey: ['sources', name], queryFn: () => client.sources.get(name) });
  const isAdmin = useIsAdmin();
  const actions = query.data !== undefined && (
    <>
      <Button size="sm" component={Link} {...({ to: '/data', search: { source: name } } as { readonly to: string })}>
        Show data
      </Button>
      {isAdmin && query.data.adapter !== 'none' && <RefreshSource source={query.data} />}
      {isAdmin && <EditSource source={query.data} key={query.data.updated_at} />}
      {isAdmin && <DropSource name={name} />}
    </>
  );
  return (
    <Page title={name} parent={{ title: 'Sources', to: '/sources' }} actions={actions}>
      <Loaded query={query}>
        {(source) => (
          <>
            <Facts facts={factsOf(source)} />
            {source.adapter !== 'none' && (
              <Section title="Refreshes from the backend">
                <Refreshes source={source} />
              </Section>
            )}
            <div className="columns">
              <MetricChart metric={`sources:push_objects:${name}`} title="Pushes" />
              <MetricChart metric={`sources:pull:${name}`} title="Pulls" />
              {source.adapter !== 'none' && <MetricChart metric={`sources:query:${name}`} title="Refreshes" />}
            </div>
            {source.partition_type === 'app' && (
              <Section title="Receipts">
                <Receipts source={name} />
              </Section>
            )}
            <SourceSchema source={source} />
            <Section title="Pushes since this screen opened">
              <RecentPushes source={name} />
            </Section>
            <Section title="Push objects to this source">
              <PushExamples source={source} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

/** Commands that push an object, to a sample owner where the data belongs to somebody. */
function PushExamples({ source: { name: source, partition_type, schema } }: { readonly source: SourceView }) {
  const stored = useQuery({ ...schemaQuery(source), enabled: schema !== null });
  const owners = {
    app: { source, shared: true },
    user: { source, user: 'ada' },
    group: { source, group: 'north' },
  } as const;
  const owner = owners[partition_type];
  if (stored.isLoading) return null;
  const sample = stored.data === undefined ? { title: `The first ${source}` } : sampleAttributes(stored.data.schema);
  const objects = { '1': sample };
  return (
    <>
      <Command label="curl" text={pushCurl(source, { ...ownerBody(owner), objects })} />
      <Command
        label="command line"
        text={`tidemark --url ${SERVER_URL} push objects ${quoted(source)}${ownerFlag(owner)} objects.json`}
      />
    </>
  );
}

function factsOf(source: SourceView) {
  const { partition_type, adapter, counts, poll_interval, conflicts, read_only, filling, push_notify, sync_type } =
    source;
  return [
    ['Data belongs to', ownersOf(partition_type)],
    ['Objects', counts.objects?.toLocaleString('en') ?? `counted per ${partition_type}`],
    ['Filled by', adapter === 'none' ? 'pushes of a backend' : adapter],
    ['Queried again', pollWords(poll_interval), 'How often Tidemark queries the backend for this source.'],
    [
      'Conflicts',
      conflicts === 'detect' ? 'detected and reported to the device' : 'the last writer wins',
      'When two devices change the same attribute.',
    ],
    ['Devices', filling ? 'get it when it is complete' : read_only ? 'can only read' : 'can change objects'],
    ['Ping after a push', notifyWords(push_notify), 'Whether devices are woken up when their data changes.'],
    ['Sync', sync_type],
    ['Queues', queueWords(source)],
    ['References', referenceWords(source.references)],
    [
      'Declared',
      source.configured ? (
        <StateBadge key="declared" tone="plain">
          by the configuration
        </StateBadge>
      ) : (
        <Moment key="declared" at={source.created_at} />
      ),
    ],
    ['Changed', <Moment key="changed" at={source.updated_at} />],
  ] as const;
}

function queueWords({ queue, query_queue, cud_queue }: SourceView): string {
  const named = [
    queue !== null && `${queue} for all work`,
    query_queue !== null && `${query_queue} for queries`,
    cud_queue !== null && `${cud_queue} for uploads`,
  ].filter((words) => words !== false);
  return named.length === 0 ? 'none: work is done in the request' : named.join(', ');
}

function referenceWords(references: SourceView['references']): string {
  const words = Object.entries(references).map(([attribute, source]) => `${attribute} → ${source}`);
  return words.length === 0 ? 'none' : words.join(', ');
}

function notifyWords(pushNotify: SourceView['push_notify']): string {
  if (pushNotify === 'until_delivered') return 'until the change is delivered';
  return pushNotify ? 'yes' : 'no';
}

function pollWords(seconds: number): string {
  if (seconds < 0) return 'never by itself';
  return seconds === 0 ? 'at every sync' : `every ${seconds} seconds`;
}

function EditSource({ source }: { readonly source: SourceView }) {
  const [form, setForm] = useState(() => formOf(source));
  return (
    <Action
      label="Edit"
      title="Edit source"
      verb="Save"
      button={{ variant: 'default' }}
      call={(api) => api.sources.update(source.name, changesOf(formOf(source), form))}
      isDisabled={Object.keys(problemsOf(form)).length > 0}
    >
      <SourceFields form={form} onChange={(changes) => setForm({ ...form, ...changes })} />
    </Action>
  );
}

function DropSource({ name }: { readonly name: string }) {
  const navigate = useNavigate();
  return (
    <Action
      label="Drop"
      title="Drop source"
      verb="Drop source and its data"
      button={{ variant: 'light', color: 'red' }}
      typedName={name}
      call={(api) => api.sources.drop(name)}
      onDone={() => navigate({ to: '/sources' })}
    >
      All objects of this source are deleted, here and on every device. This cannot be undone.
    </Action>
  );
}
