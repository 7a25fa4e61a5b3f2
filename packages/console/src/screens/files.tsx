import { Group, NativeSelect, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { FileFilter } from '@tidemark/backend';
import type { FileUsage, ListedFile } from '@tidemark/protocol';
import { useDeferredValue } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { useScannedPages } from '../api/use-scanned-pages.ts';
import { bytesText, limitText } from '../components/bytes-text.ts';
import { Empty } from '../components/command.tsx';
import { counted } from '../components/counted.ts';
import { TextField } from '../components/fields.tsx';
import { isOld } from '../components/file-facts.ts';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { useAddress } from '../components/use-address.ts';
import { FileTable, WaitingFiles } from './file-table.tsx';
import { useFileUsage } from './use-file-usage.ts';

/** What is shown, which is part of the address. */
interface Shown {
  readonly show?: string;
  readonly source?: string;
  readonly user?: string;
  /** `user`: the files of a user are wanted, who is perhaps not named yet. */
  readonly of?: string;
}

const STATES = { '': 'All files', stored: 'Stored', missing: 'Still only on devices' } as const;
const OF_EVERYBODY = '';
const OF_USER = 'user';
const OF_SOURCE = 'source:';

/** All files that are stored, and those that objects refer to. */
export function Files() {
  const usage = useFileUsage();
  return (
    <Page
      title="Files"
      about="Photos, signatures and documents that objects refer to: what is stored, and what is still only on a device."
    >
      <Loaded query={usage}>{(known) => <Usage usage={known} />}</Loaded>
      <FileList />
    </Page>
  );
}

function Usage({ usage }: { readonly usage: FileUsage }) {
  const { files, bytes, missing, oldest_missing_since: oldest, size_max, quota_bytes } = usage;
  const waiting = (
    <>
      {counted(missing, 'file')}
      {oldest !== null && (
        <>
          , the first <Moment at={oldest} />
        </>
      )}
    </>
  );
  return (
    <Facts
      isDense
      facts={[
        ['Stored', `${counted(files, 'file')}, ${bytesText(bytes)}`],
        ['Still only on devices', missing === 0 ? 'none' : waiting, ...lateNote(oldest)],
        ['Limit for one file', limitText(size_max), 'The setting files.size_max.'],
        ['Quota of each user', limitText(quota_bytes), 'The setting files.quota_bytes.'],
      ]}
    />
  );
}

function lateNote(oldest: string | null): readonly [] | readonly [string] {
  return oldest !== null && isOld(oldest, Date.now()) ? ['Longer than a day is worth a look.'] : [];
}

/** The list, filtered by owner and state. */
function FileList() {
  const [shown, change] = useAddress<Shown>('/files');
  const { show = '', source = '', user = '' } = shown;
  const login = useDeferredValue(user.trim());
  const filter = filterOf(show, source, login);
  const query = useScannedPages({
    queryKey: ['files', 'list', filter, show],
    read: async ({ signal, ...page }) => {
      const { files, next } = await client.files.list({ ...filter, ...page, signal });
      return { files: files.filter((file) => isShown(file, show)), next, total: 0, examined: 0 };
    },
    rowsOf: ({ files }) => files,
  });
  const isFiltered = show !== '' || source !== '' || login !== '';
  return (
    <>
      <Filters shown={shown} onChange={change} />
      <Loaded query={query}>
        {({ pages }) => {
          const files = pages.flatMap(({ rows }) => rows);
          const isWhole = pages.at(-1)?.next === null;
          if (files.length === 0 && isWhole) return <Nothing show={show} isFiltered={isFiltered} />;
          return (
            <>
              <Text size="sm" c="dimmed" role="status">
                {counted(files.length, 'file')}
                {isWhole ? '' : ' so far'}
              </Text>
              {files.length > 0 && (show === 'missing' ? <WaitingFiles files={files} /> : <FileTable files={files} />)}
            </>
          );
        }}
      </Loaded>
      <PagesButton query={query}>More files</PagesButton>
    </>
  );
}

/** The server filters by one thing at a time; the state of files of a source or user is looked at here. */
function filterOf(show: string, source: string, user: string): FileFilter {
  if (source !== '') return { source };
  if (user !== '') return { user };
  return show === 'missing' ? { state: 'missing' } : {};
}

function isShown({ is_stored }: ListedFile, show: string): boolean {
  if (show === 'stored') return is_stored;
  return show !== 'missing' || !is_stored;
}

interface FiltersProps {
  readonly shown: Shown;
  readonly onChange: (changes: Shown) => void;
}

function Filters({ shown: { show = '', source = '', user = '', of }, onChange }: FiltersProps) {
  const sources = useQuery({ queryKey: ['sources'], queryFn: () => client.sources.list() });
  const isOfUser = source === '' && (of === OF_USER || user !== '');
  const chosen = isOfUser ? OF_USER : OF_EVERYBODY;
  const choose = (value: string) => {
    const name = value.startsWith(OF_SOURCE) ? value.slice(OF_SOURCE.length) : '';
    onChange({ source: name, user: '', of: value === OF_USER ? OF_USER : '' });
  };
  const names = (sources.data ?? []).map(({ name }) => name);
  return (
    <Group gap="sm" align="end">
      <NativeSelect
        label="Show"
        value={show}
        onChange={(event) => onChange({ show: event.currentTarget.value })}
        data={Object.entries(STATES).map(([value, label]) => ({ value, label }))}
      />
      <NativeSelect
        label="Files of"
        value={source === '' ? chosen : `${OF_SOURCE}${source}`}
        onChange={(event) => choose(event.currentTarget.value)}
        data={[
          { value: OF_EVERYBODY, label: 'everybody' },
          { value: OF_USER, label: 'a user' },
          ...names.map((name) => ({ value: `${OF_SOURCE}${name}`, label: `the source ${name}` })),
        ]}
      />
      {isOfUser && <TextField label="Login" value={user} onText={(text) => onChange({ user: text })} />}
    </Group>
  );
}

interface NothingProps {
  readonly show: string;
  readonly isFiltered: boolean;
}

function Nothing({ show, isFiltered }: NothingProps) {
  if (show === 'missing')
    return <Empty title="Everything has arrived">No object refers to a file that is still only on a device.</Empty>;
  if (isFiltered) return <Empty title="No such file">No file is what you look for.</Empty>;
  return (
    <Empty title="No files yet" cli={`tidemark --url ${SERVER_URL} files put photo.jpg --type image/jpeg`}>
      A file appears here when a device or a backend has stored it, or when an object refers to it. This command stores
      one, and prints what an attribute says to refer to it.
    </Empty>
  );
}
