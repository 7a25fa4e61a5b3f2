import { Alert, Button, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link, useParams } from '@tanstack/react-router';
import type { FileCheck, FileUse, ListedFile } from '@tidemark/protocol';
import { Fragment, useState } from 'react';
import { client } from '../api/client.ts';
import { useIsAdmin } from '../api/session.ts';
import { useScannedPages } from '../api/use-scanned-pages.ts';
import { Action } from '../components/action.tsx';
import { bytesText } from '../components/bytes-text.ts';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { isLost, isOld, shownFileName } from '../components/file-facts.ts';
import { Failure, Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { saveBytes } from '../components/save-file.ts';
import { FilePicture } from './file-picture.tsx';
import { Devices } from './file-table.tsx';

const REFRESH_MS = 10_000;

/** A file: its picture, what is known of it, and the objects that refer to it. */
export function File() {
  const { sha256 } = useParams({ strict: false }) as { readonly sha256: string };
  const query = useQuery({
    queryKey: ['files', sha256],
    queryFn: () => client.files.facts(sha256),
    refetchInterval: REFRESH_MS,
  });
  const isAdmin = useIsAdmin();
  const file = query.data;
  const actions = file?.is_stored === true && (
    <>
      <Download file={file} />
      {isAdmin && <Verify file={file} />}
    </>
  );
  return (
    <Page
      title={shownFileName({ sha256, name: file?.name ?? null })}
      parent={{ title: 'Files', to: '/files' }}
      actions={actions}
    >
      <Loaded query={query}>
        {(known) => (
          <>
            {known.is_stored ? <FilePicture file={known} /> : <NotHere file={known} />}
            <Facts facts={factsOf(known)} />
            <Section title="Objects that refer to it">
              <Uses sha256={sha256} />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}

function factsOf({ sha256, size, type, stored_at, references, senders }: ListedFile) {
  return [
    ['SHA-256', <code key="sha256">{sha256}</code>],
    ['Type', type ?? 'not told: no object refers to the file'],
    ['Size', size < 1_000 ? counted(size, 'byte') : `${bytesText(size)} (${counted(size, 'byte')})`],
    ['Stored', stored_at === null ? 'not yet' : <Moment key="stored" at={stored_at} />],
    ['Sent by', <Senders key="senders" senders={senders} />],
    ['Objects', counted(references, 'object')],
  ] as const;
}

function Senders({ senders }: Pick<ListedFile, 'senders'>) {
  if (senders.length === 0) return 'nobody yet';
  return (
    <span className="subjects">
      {senders.map((login) => (
        <Fragment key={login ?? ''}>
          {login === null ? <span>a backend</span> : <NameLink kind="user" name={login} />}
        </Fragment>
      ))}
    </span>
  );
}

/** Says where the bytes are while they are not stored. */
function NotHere({ file }: { readonly file: ListedFile }) {
  const { missing_since, devices } = file;
  if (isLost(file)) return <Lost file={file} />;
  const isLate = missing_since !== null && isOld(missing_since, Date.now());
  return (
    <Alert color={isLate ? 'yellow' : 'blue'} title="Its bytes have not arrived">
      <Stack gap={6}>
        <Text size="sm">
          {missing_since !== null && (
            <>
              An object that refers to it came <Moment at={missing_since} />.{' '}
            </>
          )}
          {devices.length === 0
            ? 'No device is known to have it. A backend that refers to a file stores its bytes as well.'
            : 'This device sends it as soon as it has a network. Until then others see the object without the file.'}
        </Text>
        {devices.length > 0 && <Devices devices={devices} />}
      </Stack>
    </Alert>
  );
}

/** Says who may bring back bytes that were here. */
function Lost({ file: { missing_since, devices } }: { readonly file: ListedFile }) {
  return (
    <Alert color="yellow" title="The server has lost its bytes">
      <Stack gap={6}>
        <Text size="sm">
          It was sent, and later its bytes were damaged or gone
          {missing_since !== null && (
            <>
              {' '}
              (noticed <Moment at={missing_since} />)
            </>
          )}
          .{' '}
          {missing_since === null
            ? 'No object refers to it, so no device sends it again.'
            : 'A device that still has it, of a user who sent it or may read it, sends it again within about an hour of use. A backend may store it again as well.'}
        </Text>
        {devices.length > 0 && <Devices devices={devices} />}
      </Stack>
    </Alert>
  );
}

function Download({ file }: { readonly file: ListedFile }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const save = async () => {
    setBusy(true);
    setError(null);
    try {
      // Whatever it is, the browser saves it, and opens nothing.
      const bytes = await client.files.download(file.sha256);
      await saveBytes(file.name ?? file.sha256, 'application/octet-stream', bytes);
    } catch (failure) {
      setError(failure);
    }
    setBusy(false);
  };
  return (
    <>
      <Button size="sm" onClick={() => void save()} loading={isBusy}>
        Download
      </Button>
      {error !== null && <Failure error={error} />}
    </>
  );
}

function Verify({ file: { sha256 } }: { readonly file: ListedFile }) {
  return (
    <Action
      label="Verify"
      title="Verify the file"
      verb="Verify file"
      button={{ variant: 'default' }}
      call={(api) => api.files.verify(sha256)}
      showAnswer={(answer) => <Checked check={answer as FileCheck} />}
    >
      The server reads the file again and compares its bytes with its hash. One that is damaged or gone counts as not
      stored from then on, and devices that have it send it again.
    </Action>
  );
}

function Checked({ check: { is_intact, problem, size } }: { readonly check: FileCheck }) {
  return (
    <Alert
      color={is_intact ? 'green' : 'red'}
      title={is_intact ? 'The file is undamaged' : 'The file is not intact'}
      role="status"
    >
      {is_intact
        ? `All ${counted(size, 'byte')} have the hash.`
        : problem === 'missing'
          ? 'Its bytes are gone.'
          : 'Its bytes have another hash.'}
    </Alert>
  );
}

const USES: readonly Column<FileUse>[] = [
  { title: 'Object', cell: (use) => <ObjectLink use={use} /> },
  { title: 'Source', cell: ({ source }) => <NameLink kind="source" name={source} /> },
  { title: 'Data of', cell: (use) => <Owner use={use} /> },
];

function ObjectLink({ use: { source, user, group, object_id: object } }: { readonly use: FileUse }) {
  const search = {
    source,
    ...(user === null ? {} : { user }),
    ...(group === null ? {} : { group }),
    object,
  };
  return (
    <Link className="name" title={`Open ${object}`} {...({ to: '/data', search } as { readonly to: string })}>
      {object}
    </Link>
  );
}

function Owner({ use: { user, group } }: { readonly use: FileUse }) {
  if (user !== null) return <NameLink kind="user" name={user} />;
  return group === null ? 'all users' : <NameLink kind="group" name={group} />;
}

function Uses({ sha256 }: { readonly sha256: string }) {
  const query = useScannedPages({
    queryKey: ['files', sha256, 'objects'],
    read: async (page) => ({ ...(await client.files.where(sha256, page)), total: 0, examined: 0 }),
    rowsOf: ({ objects }) => objects,
  });
  return (
    <>
      <Loaded query={query}>
        {({ pages }) => {
          const uses = pages.flatMap(({ rows }) => rows);
          if (uses.length === 0)
            return (
              <Text size="sm" c="dimmed" className="card">
                No object refers to the file. It is deleted when the grace period is over (the setting files.grace_h).
              </Text>
            );
          return <DataTable label="Objects" rows={uses} keyOf={keyOfUse} columns={USES} />;
        }}
      </Loaded>
      <Group>
        <PagesButton query={query}>More objects</PagesButton>
      </Group>
    </>
  );
}

function keyOfUse({ source, user, group, object_id }: FileUse): string {
  return JSON.stringify([source, user, group, object_id]);
}
