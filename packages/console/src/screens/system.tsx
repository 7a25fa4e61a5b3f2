import { Group, Switch, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { SettingInForce } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { useIsAdmin, useSession } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { type Column, DataTable } from '../components/data-table.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Page, Section } from '../components/page.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { Backups } from './backups.tsx';

const SETTINGS: readonly Column<SettingInForce>[] = [
  { title: 'Setting', cell: ({ name }) => <code className="long">{name}</code> },
  {
    title: 'Value',
    cell: ({ value, warning }) => (
      <>
        <code className="long">{JSON.stringify(value)}</code>
        {warning !== null && <StateBadge tone="warn">{warning}</StateBadge>}
      </>
    ),
  },
  {
    title: 'From',
    cell: ({ kind, origin }) => <StateBadge tone={kind === 'default' ? 'plain' : 'busy'}>{origin}</StateBadge>,
  },
];
const RESET_WORDS = 'delete all data';

export function System() {
  const license = useQuery({ queryKey: ['license'], queryFn: () => client.system.license() });
  const isAdmin = useIsAdmin();
  const mayReset = useSession().data?.session?.scopes.includes('admin:reset') === true;
  return (
    <Page title="System" about="The server itself.">
      <Section title="Version and licence">
        <Loaded query={license}>
          {({ version, license: name, edition, licensee, devices, issued }) => (
            <Facts
              facts={[
                ['Version', version],
                ['Licence', `${name}, ${edition} edition`, 'The number of devices has no cap.'],
                ['Licensee', licensee ?? 'not set in the configuration'],
                ['Devices', devices.toLocaleString('en')],
                ['First started', <Moment key="issued" at={issued} />],
              ]}
            />
          )}
        </Loaded>
      </Section>
      {isAdmin && <Backups />}
      {isAdmin && (
        <Section title="Settings">
          <SettingsInForce />
        </Section>
      )}
      {mayReset && (
        <Section title="Reset">
          <Group className="card" justify="space-between">
            <Text size="sm">Deletes all users, devices and data. Administrators and configured sources stay.</Text>
            <Action
              label="Delete all data"
              title="Delete all data of this server"
              verb="Delete all data"
              button={{ variant: 'light', color: 'red' }}
              typedName={RESET_WORDS}
              call={(api) => api.system.reset()}
            >
              Every device starts over with nothing. This cannot be undone: make a backup before.
            </Action>
          </Group>
        </Section>
      )}
    </Page>
  );
}

/** The settings that somebody has set, and on request or when one is searched for, all others. */
function SettingsInForce() {
  const [filter, setFilter] = useState('');
  const [areDefaultsShown, setDefaultsShown] = useState(false);
  const query = useQuery({ queryKey: ['settings'], queryFn: () => client.system.settings() });
  return (
    <>
      <Group gap="md" align="end">
        <TextField label="Find" type="search" value={filter} onText={setFilter} w={320} />
        <Switch
          label="Show defaults, too"
          checked={areDefaultsShown}
          onChange={(event) => setDefaultsShown(event.currentTarget.checked)}
          pb={8}
        />
      </Group>
      <Loaded query={query}>
        {(settings) => {
          const isSet = ({ kind }: SettingInForce) => kind !== 'default';
          const found = settings.filter(({ name }) => name.includes(filter));
          const others = areDefaultsShown || filter !== '' ? found.filter((setting) => !isSet(setting)) : [];
          const rows = [...found.filter(isSet), ...others];
          return <DataTable label="Settings" rows={rows} keyOf={({ name }) => name} columns={SETTINGS} />;
        }}
      </Loaded>
    </>
  );
}
