import { Alert, Button, Group, NumberInput, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { TidemarkError } from '@tidemark/backend';
import type { Backup, BackupCheck, BackupList } from '@tidemark/protocol';
import { useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { curlOf } from '../api/curl.ts';
import { Action } from '../components/action.tsx';
import { bytesText } from '../components/bytes-text.ts';
import { Command, Empty } from '../components/command.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Failure, Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Section } from '../components/page.tsx';
import { saveBytes } from '../components/save-file.ts';
import { StateBadge } from '../components/state-badge.tsx';

type ScheduledBackup = NonNullable<NonNullable<BackupList['schedule']>['last']>;

const KEPT = 14;

const COLUMNS: readonly Column<Backup>[] = [
  { title: 'Backup', cell: ({ name }) => <code className="long">{name}</code> },
  { title: 'Made', cell: ({ made_at }) => <Moment at={made_at} /> },
  { title: 'Size', cell: ({ bytes }) => bytesText(bytes), isNumber: true },
  { title: 'Files', cell: (backup) => <FilesBeside backup={backup} /> },
  {
    title: '',
    cell: ({ name }) => (
      <Group gap="xs" justify="flex-end">
        <Download name={name} />
        <Verify name={name} />
        <Action
          label="Delete"
          title="Delete backup"
          verb="Delete backup"
          button={{ variant: 'light', color: 'red', size: 'compact-sm' }}
          typedName={name}
          call={(api) => api.backups.delete(name)}
        >
          The backup is deleted from the disk of the server. This cannot be undone.
        </Action>
      </Group>
    ),
  },
];

/** The files of objects that are kept beside a backup, and those that were gone or damaged when it was made. */
function FilesBeside({ backup: { files, files_wrong: wrong } }: { readonly backup: Backup }) {
  if (files === null) return 'not in backups';
  if (wrong === null || wrong === 0) return files.toLocaleString('en');
  return (
    <Group gap="xs" wrap="nowrap">
      {files.toLocaleString('en')}
      <StateBadge tone="bad">{`${wrong.toLocaleString('en')} missing`}</StateBadge>
    </Group>
  );
}

/** The backups that the server holds. */
export function Backups() {
  const query = useQuery({ queryKey: ['backups'], queryFn: () => client.backups.list(), retry: false });
  const isOffered = !(query.error instanceof TidemarkError && query.error.code === 'backup_not_offered');
  return (
    <Section
      title="Backups"
      actions={
        isOffered && (
          <Group gap="xs" wrap="nowrap">
            <Prune />
            <Action
              word="backup"
              label="Make a backup"
              title="Make a backup"
              verb="Make backup"
              call={(api) => api.backups.create()}
            >
              The server copies its data and goes on meanwhile. The copy also has password hashes and secrets.
            </Action>
          </Group>
        )
      }
    >
      {isOffered ? (
        <Loaded query={query}>
          {(list) => (
            <Stack gap="md">
              <Schedule schedule={list.schedule} />
              <BackupTable list={list} />
              <Restore folder={list.folder} name={list.backups[0]?.name ?? '2030-01-31T03-00-00-000Z'} />
            </Stack>
          )}
        </Loaded>
      ) : (
        <Alert color="blue" title="Backups are made with the tools of the store">
          The data is kept in Valkey or Redis. Tidemark makes, downloads, verifies and prunes no backups of it: BGSAVE
          writes a dump, and the append-only file is one, too. The page “Backup and restore” of the documentation says
          how.
        </Alert>
      )}
    </Section>
  );
}

/** When the server makes backups by itself, and how the last one went. */
function Schedule({ schedule }: Pick<BackupList, 'schedule'>) {
  if (schedule === null) {
    return (
      <Alert color="yellow" title="No backup is made by itself">
        <Stack gap="xs">
          <Text size="sm">
            Set a schedule in the configuration, and start the server again. It keeps the newest 14, and runs a program
            after each if you name one, for example to copy it to another machine.
          </Text>
          <Command
            label="The settings of scheduled backups"
            text={'"backup": { "schedule": "daily 03:00", "keep": 14, "command": "/usr/local/bin/copy-backup" }'}
          />
        </Stack>
      </Alert>
    );
  }
  const { last, next_at, keep, command } = schedule;
  return (
    <Stack gap="xs">
      {last?.state === 'failed' && (
        <Alert color="red" title="The last scheduled backup failed" role="alert">
          <Text size="sm" className="long">
            {last.detail}
          </Text>
        </Alert>
      )}
      <Facts
        isDense
        facts={[
          ['Schedule', `${schedule.schedule} (UTC)`],
          ['Keeps', `the newest ${keep}`],
          ['Then runs', command ?? 'nothing'],
          ['Next', <Moment key="next" at={next_at} />],
          ['Last', last === null ? 'none yet' : <LastBackup key="last" last={last} />],
        ]}
      />
    </Stack>
  );
}

const STATES = { running: ['busy', 'running'], done: ['good', 'done'], failed: ['bad', 'failed'] } as const;

function LastBackup({ last: { at, state } }: { readonly last: ScheduledBackup }) {
  const [tone, words] = STATES[state];
  return (
    <Group gap="xs">
      <Moment at={at} />
      <StateBadge tone={tone}>{words}</StateBadge>
    </Group>
  );
}

/** How a backup becomes the data again. It needs the machine: a server cannot replace the data under itself. */
function Restore({ folder, name }: { readonly folder: string; readonly name: string }) {
  const { data: settings = [] } = useQuery({ queryKey: ['settings'], queryFn: () => client.system.settings() });
  const data = settings.find((setting) => setting.name === 'data')?.value;
  return (
    <details className="card">
      <summary>How to restore a backup</summary>
      <Stack gap="xs" mt="xs">
        <Text size="sm">
          On the machine of the server: stop it, put the backup in place of the data, and start it again. “verify” reads
          the whole backup beforehand and reports damage. A downloaded archive is unpacked with “tar xf” first.
        </Text>
        <Command
          label="Restore"
          text={[
            `tidemark verify --data ${folder}/${name}`,
            'systemctl stop tidemark',
            `tidemark restore ${folder}/${name} --data ${typeof data === 'string' ? data : '<data folder>'}`,
            'systemctl start tidemark',
          ].join('\n')}
        />
        <Text size="sm">
          What was written after the backup is gone until the backend pushes it again. All devices start over: they get
          everything once more, and send what they had not uploaded yet.
        </Text>
      </Stack>
    </details>
  );
}

function BackupTable({ list: { folder, free_bytes, backups } }: { readonly list: BackupList }) {
  if (backups.length === 0) {
    return (
      <Empty
        title="No backups yet"
        curl={curlOf((api) => api.backups.create())}
        cli={`tidemark --url ${SERVER_URL} backups create`}
      >
        Make one with the button above, or with one of these commands. They are kept in {folder}.
      </Empty>
    );
  }
  return (
    <Stack gap="xs">
      <DataTable label="Backups" rows={backups} keyOf={({ name }) => name} columns={COLUMNS} />
      <Text size="xs" c="dimmed" className="long">
        In {folder}
        {free_bytes === null ? '' : `, with ${bytesText(free_bytes)} free`}. Download backups, or set backup_folder to
        another disk: what is on the disk of the data is lost with it.
      </Text>
    </Stack>
  );
}

function Prune() {
  const [keep, setKeep] = useState(KEPT);
  return (
    <Action
      label="Delete old"
      title="Delete old backups"
      verb="Delete old backups"
      button={{ variant: 'default' }}
      typedName={`keep ${keep}`}
      call={(api) => api.backups.prune(keep)}
    >
      <NumberInput
        label="Backups to keep"
        description="The newest stay; all older ones are deleted."
        min={1}
        max={100}
        value={keep}
        onChange={(value) => setKeep(Number(value) || 1)}
      />
    </Action>
  );
}

function Download({ name }: { readonly name: string }) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const file = `tidemark-${name}.tar`;
  const curl = `${curlOf((api) => api.backups.download(name))} \\\n  -o ${file}`;
  const download = async () => {
    setBusy(true);
    setError(null);
    try {
      await saveBytes(file, 'application/x-tar', await client.backups.download(name));
      setOpen(false);
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <Button variant="default" size="compact-sm" aria-haspopup="dialog" onClick={() => setOpen(true)}>
        Download
      </Button>
      <Dialog title="Download backup" isOpen={isOpen} onClose={() => setOpen(false)}>
        <Stack gap="md">
          <Text size="sm">
            A tar archive with one folder, for “tidemark restore”. It holds password hashes and secrets: keep it safe.
            For a large one, the command is better than the browser. The files of objects are not in it: copy the folder
            tidemark-files beside the backups, too.
          </Text>
          <Command label="curl" text={curl} />
          {error !== null && <Failure error={error} />}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={() => setOpen(false)}>
              Cancel
            </Button>
            <Button loading={isBusy} onClick={download}>
              Download archive
            </Button>
          </Group>
        </Stack>
      </Dialog>
    </>
  );
}

function Verify({ name }: { readonly name: string }) {
  return (
    <Action
      label="Verify"
      title="Verify backup"
      verb="Verify backup"
      button={{ variant: 'default', size: 'compact-sm' }}
      call={(api) => api.backups.verify(name)}
      showAnswer={(answer) => <CheckResult check={answer as BackupCheck} />}
    >
      <Text size="sm">
        The server reads a copy of the backup and recomputes its indexes, sizes and checksums. It takes as long as
        reading it all, and needs as much free space as the backup.
      </Text>
    </Action>
  );
}

function CheckResult({ check: { is_undamaged, findings_count, findings } }: { readonly check: BackupCheck }) {
  if (is_undamaged) {
    return (
      <Alert color="green" title="The backup is undamaged" role="status">
        Everything in it could be read, and is as its records say.
      </Alert>
    );
  }
  return (
    <Alert color="red" title={`The backup is damaged in ${findings_count} places`} role="status">
      {findings.slice(0, 10).map(({ source, problem, detail }) => (
        <Text key={`${source} ${problem} ${detail}`} size="sm" className="long">
          {source ?? 'The store'}: {problem}. {detail}
        </Text>
      ))}
    </Alert>
  );
}
