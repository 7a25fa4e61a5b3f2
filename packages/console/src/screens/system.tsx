import { Group, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { client } from '../api/client.ts';
import { useSession } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Page, Section } from '../components/page.tsx';

const RESET_WORDS = 'delete all data';

export function System() {
  const license = useQuery({ queryKey: ['license'], queryFn: () => client.system.license() });
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
      {mayReset && (
        <Section title="Reset">
          <Group className="card" justify="space-between">
            <Text size="sm">Deletes all users, devices and data. Administrators and configured sources stay.</Text>
            <Action
              label="Reset"
              title="Delete all data of this server"
              verb="Delete all data"
              button={{ variant: 'light', color: 'red' }}
              typedName={RESET_WORDS}
              call={(api) => api.system.reset()}
            >
              Every device starts over with nothing. This cannot be undone; a backup is made by: tidemark backup
            </Action>
          </Group>
        </Section>
      )}
    </Page>
  );
}
