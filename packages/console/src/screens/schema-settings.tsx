import { NativeSelect, Stack, Text } from '@mantine/core';
import type { SchemaDiff, SchemaMode, SchemaView } from '@tidemark/protocol';
import { useState } from 'react';
import { Action } from '../components/action.tsx';
import { counted } from '../components/counted.ts';
import { devicesBefore } from './schema-change.ts';
import { MODE_WORDS } from './schema-words.ts';

interface SchemaSettingsProps {
  readonly view: SchemaView;
  /** Absent: the devices are not counted yet. */
  readonly devices: SchemaDiff | undefined;
}

/** Sets what becomes of data that does not fit, and which apps are refused. Only what differs is sent. */
export function SchemaSettings({ view, devices }: SchemaSettingsProps) {
  const [mode, setMode] = useState(view.mode);
  const [oldest, setOldest] = useState(view.oldest_version);
  const changes = {
    ...(mode === view.mode ? {} : { mode }),
    ...(oldest === view.oldest_version ? {} : { oldest_version: oldest }),
  };
  const older = devices === undefined ? 0 : devicesBefore(devices, oldest);
  return (
    <Action
      label="Mode and oldest version"
      title="Mode and oldest version"
      verb="Save"
      button={{ variant: 'default' }}
      call={(api) => api.sources.setSchema(view.source, changes)}
      isDisabled={Object.keys(changes).length === 0}
    >
      <Stack gap="md">
        <NativeSelect
          label="Mode"
          value={mode}
          onChange={(event) => setMode(event.currentTarget.value as SchemaMode)}
          data={Object.entries(MODE_WORDS).map(([value, label]) => ({ value, label }))}
        />
        <NativeSelect
          label="Oldest version"
          description="Apps of older versions go on offline with what they have, and are asked to update."
          value={String(oldest)}
          onChange={(event) => setOldest(Number(event.currentTarget.value))}
          data={Array.from({ length: view.version }, (_, index) => String(view.version - index))}
        />
        {older > 0 && (
          <Text size="sm" fw={600} role="status">
            {counted(older, 'device')} of the last 30 days {older === 1 ? 'has' : 'have'} an older version.
          </Text>
        )}
      </Stack>
    </Action>
  );
}
