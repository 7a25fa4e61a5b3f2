import { Badge, Group, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { AppserverChecks } from '@tidemark/protocol';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { useIsAdmin, useSession } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { TextField } from '../components/fields.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Facts, Page, Section } from '../components/page.tsx';

const RESET_WORDS = 'delete all data';
const COLORS = { ok: 'green', warning: 'yellow', failed: 'red' } as const;

export function System() {
  const license = useQuery({ queryKey: ['license'], queryFn: () => client.system.license() });
  const appserver = useQuery({ queryKey: ['appserver'], queryFn: () => client.system.appserver() });
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
      <Section
        title="Backend"
        actions={
          isAdmin && (
            <Group gap="xs">
              <CheckBackend />
              {appserver.data !== undefined && (
                <SetBackend key={appserver.data.adapter_url} address={appserver.data.adapter_url ?? ''} />
              )}
            </Group>
          )
        }
      >
        <Loaded query={appserver}>
          {({ adapter_url }) => (
            <Facts
              facts={[
                ['Address', adapter_url ?? 'none', 'Where Tidemark fetches data, sends uploads and checks logins.'],
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

function SetBackend({ address }: { readonly address: string }) {
  const [url, setUrl] = useState(address);
  return (
    <Action
      label="Change"
      title="Address of the backend"
      verb="Save"
      button={{ variant: 'default' }}
      call={(api) => api.system.setAppserver(url === '' ? null : url)}
    >
      <TextField
        label="Address"
        description="Empty: there is no backend, and only pushes fill the sources."
        value={url}
        onText={setUrl}
        placeholder="https://app.example/tidemark"
        data-autofocus
      />
    </Action>
  );
}

function CheckBackend() {
  const [result, setResult] = useState<AppserverChecks | null>(null);
  return (
    <Action
      label="Check the backend"
      title="Check the backend"
      verb="Check"
      button={{ variant: 'default' }}
      call={(api) => api.system.checkAppserver()}
      onDone={(answer) => {
        setResult(answer as AppserverChecks);
        return true;
      }}
    >
      <Stack gap="xs">
        <Text size="sm">
          Tidemark calls the backend and looks at its answers: reachability, signature, logins, each source.
        </Text>
        {result?.checks.map(({ name, status, detail }) => (
          <Group key={name} gap="sm" wrap="nowrap" align="start">
            <Badge color={COLORS[status]} variant="light" miw={80}>
              {status}
            </Badge>
            <Text size="sm" className="long">
              <b>{name}</b> {detail}
            </Text>
          </Group>
        ))}
      </Stack>
    </Action>
  );
}
