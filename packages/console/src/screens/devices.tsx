import type { ClientFilter } from '@tidemark/backend';
import { useDeferredValue } from 'react';
import { client, SERVER_URL } from '../api/client.ts';
import { Empty } from '../components/command.tsx';
import { TextField } from '../components/fields.tsx';
import { Page } from '../components/page.tsx';
import { type Choices, SearchedList } from '../components/searched-list.tsx';
import { useAddress } from '../components/use-address.ts';
import { DeviceTable } from './device-table.tsx';

const CHOICES: Choices<ClientFilter> = {
  all: { title: 'All devices', filter: {} },
  online: { title: 'Online now', filter: { online: true } },
  behind: { title: 'Behind', filter: { behind: true } },
  week: { title: 'Not seen for a week', filter: { notSeenDays: 7 } },
  month: { title: 'Not seen for 30 days', filter: { notSeenDays: 30 } },
};

/** A version as the server understands it. While one is typed it is not asked for. */
const VERSION = /^v?\d{1,15}(?:\.\d{1,15})*(?:-[0-9A-Za-z.-]+)?$/;

/** All devices. */
export function Devices() {
  const [search, change] = useAddress<{ readonly below?: string }>('/devices');
  const typed = search.below ?? '';
  const below = useDeferredValue(typed.trim());
  const isVersion = VERSION.test(below);
  const field = (
    <TextField
      label="App version below"
      placeholder="2.4.0"
      value={typed}
      onText={(value) => change({ below: value })}
      error={below === '' || isVersion ? undefined : 'Such as 2.4.0'}
      w={160}
    />
  );
  return (
    <Page
      title="Devices"
      about="What syncs with this server: where it runs, when it was last here, and what it misses."
    >
      <SearchedList
        to="/devices"
        one="device"
        placeholder="Name, id, user, system or app"
        choices={CHOICES}
        read={(filter, page) => client.clients.list({ ...filter, ...page })}
        rowsOf={({ clients }) => clients}
        others={{ fields: field, filter: isVersion ? { appVersionBelow: below } : {} }}
        empty={<NoDevices />}
      >
        {(devices) => <DeviceTable devices={devices} />}
      </SearchedList>
    </Page>
  );
}

function NoDevices() {
  return (
    <Empty title="No devices yet" cli={`tidemark --url ${SERVER_URL} device login ada`}>
      A device appears here when it signs in for the first time. This command runs one for a try.
    </Empty>
  );
}
