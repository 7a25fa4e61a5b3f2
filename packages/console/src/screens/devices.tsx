import { Group, NativeSelect, Text } from '@mantine/core';
import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ClientFilter } from '@tidemark/backend';
import { useDeferredValue, useState } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { countWords } from '../api/scanned-pages.ts';
import { useScannedPages } from '../api/use-scanned-pages.ts';
import { Empty } from '../components/command.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { DeviceTable } from './device-table.tsx';

const SHOWN = {
  all: { title: 'All devices', filter: {} },
  online: { title: 'Online now', filter: { online: true } },
  behind: { title: 'Behind', filter: { behind: true } },
  week: { title: 'Not seen for a week', filter: { notSeenDays: 7 } },
  month: { title: 'Not seen for 30 days', filter: { notSeenDays: 30 } },
} as const satisfies Readonly<Record<string, { readonly title: string; readonly filter: ClientFilter }>>;

interface DeviceSearch {
  readonly text?: string;
  readonly show?: string;
  readonly below?: string;
}

/** A version as the server understands it. While one is typed it is not asked for. */
const VERSION = /^v?\d{1,15}(?:\.\d{1,15})*(?:-[0-9A-Za-z.-]+)?$/;

/** All devices. What is searched for is part of the address. */
export function Devices() {
  const search = useSearch({ strict: false }) as DeviceSearch;
  const navigate = useNavigate();
  const [typed, setTyped] = useState({ text: search.text ?? '', below: search.below ?? '' });
  const text = useDeferredValue(typed.text.trim());
  const below = useDeferredValue(typed.below.trim());
  const shown = Object.hasOwn(SHOWN, search.show ?? '') ? (search.show as keyof typeof SHOWN) : 'all';
  const show = (changes: DeviceSearch) =>
    void navigate({ to: '/devices', search: (before: object) => ({ ...before, ...changes }), replace: true } as never);
  const filter = { ...SHOWN[shown].filter, ...(text === '' ? {} : { text }), ...versionFilter(below) };
  const query = useScannedPages({
    queryKey: ['devices', 'list', filter],
    read: (page) => client.clients.list({ ...filter, ...page }),
    rowsOf: ({ clients }) => clients,
  });
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <Page
      title="Devices"
      about="What syncs with this server: where it runs, when it was last here, and what it misses."
    >
      <Group gap="sm" align="end">
        <TextField
          label="Find"
          placeholder="Name, id, user, system or app"
          value={typed.text}
          onText={(value) => {
            setTyped({ ...typed, text: value });
            show({ text: value });
          }}
          w={280}
          type="search"
        />
        <NativeSelect
          label="Show"
          value={shown}
          onChange={(event) => show({ show: event.currentTarget.value === 'all' ? '' : event.currentTarget.value })}
          data={Object.entries(SHOWN).map(([value, { title }]) => ({ value, label: title }))}
        />
        <TextField
          label="App version below"
          placeholder="2.4.0"
          value={typed.below}
          onText={(value) => {
            setTyped({ ...typed, below: value });
            show({ below: value });
          }}
          error={below !== '' && !VERSION.test(below) ? 'Such as 2.4.0' : undefined}
          w={160}
        />
      </Group>
      <Loaded query={query}>
        {({ pages }) => {
          const devices = pages.flatMap(({ rows }) => rows);
          if (devices.length === 0 && pages.at(-1)?.next === null) return <NoDevices isFiltered={isFiltered} />;
          return (
            <>
              <Text size="sm" c="dimmed" role="status">
                {countWords(pages, 'device', isFiltered)}
              </Text>
              {devices.length > 0 && <DeviceTable devices={devices} />}
            </>
          );
        }}
      </Loaded>
      <PagesButton query={query}>{isFiltered ? 'Look on' : 'More devices'}</PagesButton>
    </Page>
  );
}

function versionFilter(below: string): ClientFilter {
  return VERSION.test(below) ? { appVersionBelow: below } : {};
}

function NoDevices({ isFiltered }: { readonly isFiltered: boolean }) {
  if (isFiltered) return <Empty title="No such device">No device is what you look for.</Empty>;
  return (
    <Empty title="No devices yet" cli={`tidemark --url ${SERVER_URL} device login ada`}>
      A device appears here when it signs in for the first time. This command runs one for a try.
    </Empty>
  );
}
