import { Group, Text } from '@mantine/core';
import type { ListedFile } from '@tidemark/protocol';
import { bytesText } from '../components/bytes-text.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { isLost, isOld, shownFileName } from '../components/file-facts.ts';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { DeviceLink } from './device-link.tsx';

const DEVICES_SHOWN = 3;

const NAME: Column<ListedFile> = { title: 'File', cell: (file) => <FileName file={file} /> };
const SIZE: Column<ListedFile> = { title: 'Size', cell: ({ size }) => bytesText(size), isNumber: true };
const REFERENCES: Column<ListedFile> = {
  title: 'Objects',
  cell: ({ references }) => references.toLocaleString('en'),
  isNumber: true,
};

const ALL: readonly Column<ListedFile>[] = [
  NAME,
  { title: 'Type', cell: ({ type }) => <FileType type={type} /> },
  SIZE,
  { title: 'Stored', cell: (file) => <Stored file={file} /> },
  REFERENCES,
];

const WAITING: readonly Column<ListedFile>[] = [
  NAME,
  SIZE,
  { title: 'Waiting since', cell: ({ missing_since: since }) => (since === null ? '–' : <Waiting since={since} />) },
  { title: 'On', cell: ({ devices }) => <Devices devices={devices} /> },
  REFERENCES,
];

/** Files that are stored, and those that are not. */
export function FileTable({ files }: { readonly files: readonly ListedFile[] }) {
  return <DataTable label="Files" rows={files} keyOf={({ sha256 }) => sha256} columns={ALL} />;
}

interface WaitingFilesProps {
  readonly files: readonly ListedFile[];
  /** True: all are on one device, which need not be named. */
  readonly isOfOneDevice?: boolean;
}

/** Files whose bytes are still on a device. */
export function WaitingFiles({ files, isOfOneDevice = false }: WaitingFilesProps) {
  const columns = WAITING.filter(({ title }) => !isOfOneDevice || title !== 'On');
  return (
    <DataTable label="Files still only on devices" rows={files} keyOf={({ sha256 }) => sha256} columns={columns} />
  );
}

function FileName({ file: { sha256, name } }: { readonly file: ListedFile }) {
  return (
    <NameLink
      kind="file"
      name={sha256}
      text={shownFileName({ sha256, name })}
      hint={name === null ? sha256 : `${name} · ${sha256}`}
    />
  );
}

function FileType({ type }: { readonly type: string | null }) {
  return (
    <span className={type === null ? 'untold' : 'told'} title={type ?? undefined}>
      {type ?? 'not told'}
    </span>
  );
}

function Stored({ file }: { readonly file: ListedFile }) {
  return file.stored_at === null ? <MissingBadge file={file} /> : <Moment at={file.stored_at} />;
}

/** Says why a file is not stored: it never came, or the server has lost its bytes. */
export function MissingBadge({ file }: { readonly file: ListedFile }) {
  const { missing_since } = file;
  if (isLost(file)) return <StateBadge tone="bad">lost</StateBadge>;
  const isLate = missing_since !== null && isOld(missing_since, Date.now());
  return <StateBadge tone={isLate ? 'warn' : 'busy'}>only on devices</StateBadge>;
}

/** Since when a file waits. One that is older than a day stands out. */
function Waiting({ since }: { readonly since: string }) {
  if (!isOld(since, Date.now())) return <Moment at={since} />;
  return (
    <Group gap={6}>
      <Moment at={since} />
      <StateBadge tone="warn">late</StateBadge>
    </Group>
  );
}

/** The devices that have the bytes, each with its user. */
export function Devices({ devices }: Pick<ListedFile, 'devices'>) {
  if (devices.length === 0) return <span className="untold">no device is known</span>;
  return (
    <div>
      {devices.slice(0, DEVICES_SHOWN).map(({ client_id, user_id }) => (
        <Group key={client_id} gap={6}>
          <DeviceLink id={client_id} />
          <Text size="sm" c="dimmed" component="span">
            of
          </Text>
          <NameLink kind="user" name={user_id} isBrief />
        </Group>
      ))}
      {devices.length > DEVICES_SHOWN && (
        <Text size="xs" c="dimmed">
          and {devices.length - DEVICES_SHOWN} more
        </Text>
      )}
    </div>
  );
}
