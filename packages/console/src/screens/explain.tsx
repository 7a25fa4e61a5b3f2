import { Button, Group, NativeSelect, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import type { Explanation, SourceSync } from '@tidemark/protocol';
import { type FormEvent, useState } from 'react';
import { client } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment, withLocalTimes } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts } from '../components/page.tsx';
import { StateBadge, type Tone } from '../components/state-badge.tsx';
import { PingUser } from './ping-user.tsx';

const SUGGESTIONS_MAX = 50;
const REFRESH_MS = 5_000;

interface ExplainProps {
  readonly device: string;
  readonly user: string;
  /** Each source, once for every group of the user if its data belongs to groups. */
  readonly sources: readonly SourceSync[];
}

/** What is asked, which is part of the address. */
interface Question {
  readonly source?: string;
  /** Absent or empty: all groups of the user. */
  readonly group?: string;
  readonly object?: string;
}

/** Asks why a device holds an object, or does not. The question is part of the address. */
export function Explain({ device, user, sources }: ExplainProps) {
  const asked = useSearch({ strict: false }) as Question;
  const navigate = useNavigate();
  const [source, setSource] = useState(asked.source ?? sources[0]?.source ?? '');
  const [group, setGroup] = useState(asked.group ?? '');
  const groups = sources.flatMap((one) => (one.source === source && one.group !== undefined ? [one.group] : []));
  const [object, setObject] = useState(asked.object ?? '');
  const [isTouched, setTouched] = useState(false);
  const ask = (event: FormEvent) => {
    event.preventDefault();
    void navigate({
      to: '/devices/$id',
      params: { id: device },
      search: { source, ...(group === '' ? {} : { group }), object } as never,
    });
  };
  return (
    <div className="card">
      <Stack gap="md">
        <form onSubmit={ask} onFocus={() => setTouched(true)}>
          <Group gap="sm" align="end">
            <NativeSelect
              label="Source"
              value={source}
              onChange={(event) => {
                setSource(event.currentTarget.value);
                setGroup('');
              }}
              data={[...new Set(sources.map((one) => one.source))]}
            />
            {groups.length > 0 && (
              <NativeSelect
                label="Group"
                value={group}
                onChange={(event) => setGroup(event.currentTarget.value)}
                data={[{ value: '', label: `any group of ${user}` }, ...groups]}
              />
            )}
            <TextField label="Object id" value={object} onText={setObject} list="objects" placeholder="17" flex={1} />
            <Button type="submit" disabled={source === '' || object === ''}>
              Explain
            </Button>
          </Group>
        </form>
        {isTouched && source !== '' && (
          <Suggestions device={device} source={source} group={group === '' ? groups[0] : group} />
        )}
        {asked.source !== undefined && asked.object !== undefined && (
          <Verdict device={device} user={user} source={asked.source} group={asked.group} object={asked.object} />
        )}
      </Stack>
    </div>
  );
}

/** Objects that wait for the device: those that somebody most likely misses. */
function Suggestions({ device, source, group }: Omit<VerdictProps, 'user' | 'object'>) {
  const { data } = useQuery({
    queryKey: ['devices', device, 'pending', source, group],
    queryFn: () => client.clients.pending(device, source, groupOption(group)),
  });
  const ids = [...Object.keys(data?.put ?? {}), ...Object.keys(data?.patch ?? {}), ...(data?.delete ?? [])];
  return (
    <datalist id="objects">
      {ids.slice(0, SUGGESTIONS_MAX).map((id) => (
        <option key={id} value={id} />
      ))}
    </datalist>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  current: 'good',
  deleted: 'good',
  behind: 'busy',
  pending: 'busy',
  unconfirmed: 'busy',
  deletion_pending: 'busy',
  starting_over: 'busy',
  upload_queued: 'busy',
  device_away: 'warn',
  file_not_uploaded: 'warn',
  never_synced: 'warn',
  other_epoch: 'warn',
  wiped: 'warn',
};

interface VerdictProps {
  readonly device: string;
  readonly user: string;
  readonly source: string;
  /** Undefined: all groups of the user, if the data belongs to groups. */
  readonly group: string | undefined;
  readonly object: string;
}

/** The option of a call about a group. */
export function groupOption(group: string | undefined): { readonly group?: string } {
  return group === undefined ? {} : { group };
}

function Verdict({ device, user, source, group, object }: VerdictProps) {
  const query = useQuery({
    queryKey: ['devices', device, 'explain', source, group, object],
    queryFn: () => client.clients.explain(device, source, object, groupOption(group)),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {(explanation) => (
        <Stack gap="sm" role="status">
          <Group gap="sm" align="start" className="verdict">
            <StateBadge tone={TONES[explanation.verdict] ?? 'bad'}>
              {explanation.verdict.replaceAll('_', ' ')}
            </StateBadge>
            <Text fw={600} className="long">
              {withLocalTimes(explanation.sentence)}
            </Text>
          </Group>
          {explanation.attributes.length > 0 && (
            <Text size="sm" className="long">
              Older on the device: {explanation.attributes.join(', ')}
            </Text>
          )}
          {explanation.remedy !== '' && (
            <Group gap="sm">
              <Text size="sm" className="long">
                {explanation.remedy}
              </Text>
              <Remedy
                verdict={explanation.verdict}
                user={user}
                source={source}
                group={explanation.evidence.group ?? undefined}
                object={object}
              />
            </Group>
          )}
          <Facts facts={evidenceOf(explanation)} isDense />
        </Stack>
      )}
    </Loaded>
  );
}

/** A ping would change nothing. */
const WITHOUT_PING: ReadonlySet<string> = new Set(['upload_rejected', 'other_partition', 'wiped', 'file_not_uploaded']);

type RemedyProps = Omit<VerdictProps, 'device'> & { readonly verdict: string };

/** The button that does what the remedy says. */
function Remedy({ verdict, user, source, group, object }: RemedyProps) {
  const isAdmin = useIsAdmin();
  const button = { variant: 'default', size: 'compact-sm' } as const;
  if (verdict === 'upload_queued')
    return (
      <Button {...button} component={Link} to="/jobs">
        Open the queues
      </Button>
    );
  if (!isAdmin) return null;
  if (verdict === 'not_in_backend' || verdict === 'refresh_failing')
    return (
      <Action
        label="Refresh now"
        title={`Refresh ${source}`}
        verb="Refresh at the next sync"
        button={button}
        call={(api) => api.sources.refresh(source, user)}
      >
        Tidemark asks the backend again when a device of {user} syncs next.
      </Action>
    );
  if (verdict === 'never_existed' || verdict === 'trimmed_or_never_existed')
    return (
      <Button
        {...button}
        component={Link}
        {...({ to: '/data', search: { source, user, ...groupOption(group), add: object } } as { readonly to: string })}
      >
        Add the object
      </Button>
    );
  return WITHOUT_PING.has(verdict) ? null : <PingUser login={user} sources={[source]} button={button} />;
}

function evidenceOf({ evidence }: Explanation) {
  const number = (seq: number | null) => (seq === null ? 'nothing' : seq.toLocaleString('en'));
  return [
    ...(evidence.group === null
      ? []
      : [['Group', <NameLink key="group" kind="group" name={evidence.group} />] as const]),
    ['Seq of the object', evidence.object_seq === null ? 'not in the source' : number(evidence.object_seq)],
    ...(evidence.changed_at === null
      ? []
      : [['Last changed', <Moment key="changed" at={evidence.changed_at} />] as const]),
    ...(evidence.behind_since === null
      ? []
      : [['Behind since', <Moment key="behind" at={evidence.behind_since} />] as const]),
    ['Device acknowledged', number(evidence.acknowledged)],
    ...(evidence.sent === null ? [] : [['Sent, not confirmed', number(evidence.sent)] as const]),
    ['Newest seq', number(evidence.head)],
    ['Last contact', <Moment key="contact" at={evidence.last_contact} />],
    ...(evidence.catching_up_at === null ? [] : [['Catching up at', number(evidence.catching_up_at)] as const]),
    ...(evidence.upload === null ? [] : [['Its upload', evidence.upload.status] as const]),
    ...(evidence.refreshed_at === null
      ? []
      : [['Last refresh', <Moment key="refreshed" at={evidence.refreshed_at} />] as const]),
    ...(evidence.missing_files.length === 0
      ? []
      : [['Not here yet', <MissingFiles key="files" files={evidence.missing_files} />] as const]),
    ...(evidence.refresh_error === null ? [] : [['Refresh failed', evidence.refresh_error.detail] as const]),
  ] as const;
}

function MissingFiles({ files }: { readonly files: Explanation['evidence']['missing_files'] }) {
  return (
    <Stack gap={0}>
      {files.map(({ sha256, name }) => (
        <NameLink key={sha256} kind="file" name={sha256} text={name ?? sha256} isShort={name === null} />
      ))}
    </Stack>
  );
}
