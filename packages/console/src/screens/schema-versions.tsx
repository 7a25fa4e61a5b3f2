import { Group, Text } from '@mantine/core';
import type { SchemaDiff, SchemaView, Step } from '@tidemark/protocol';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { StateBadge } from '../components/state-badge.tsx';
import { FirstRows } from './first-rows.tsx';
import { stepWords } from './schema-words.ts';

const VERSIONS_SHOWN = 20;

interface VersionRow {
  readonly version: number;
  /** Null: it is the first version. */
  readonly steps: readonly Step[] | null;
  readonly devices: number;
  readonly state: 'present' | 'refused' | null;
}

const COLUMNS: readonly Column<VersionRow>[] = [
  {
    title: 'Version',
    cell: ({ version, state }) => (
      <Group gap="xs">
        {version.toLocaleString('en')}
        {state === 'present' && <StateBadge tone="good">present</StateBadge>}
        {state === 'refused' && <StateBadge tone="warn">apps are refused</StateBadge>}
      </Group>
    ),
  },
  { title: 'What changed', cell: ({ steps }) => <StepsInWords steps={steps} /> },
  {
    title: 'Devices of the last 30 days',
    cell: ({ devices }) => devices.toLocaleString('en'),
    isNumber: true,
  },
];

/** The versions of a schema, the newest first, with the devices that were here lately. */
export function SchemaVersions({ view, devices }: { readonly view: SchemaView; readonly devices: SchemaDiff }) {
  const unknown = devices.devices_without_version;
  return (
    <>
      <FirstRows rows={versionRows(view, devices)} shownMax={VERSIONS_SHOWN} noun="versions">
        {(rows) => (
          <DataTable
            label="Versions of the schema"
            rows={rows}
            keyOf={({ version }) => String(version)}
            columns={COLUMNS}
          />
        )}
      </FirstRows>
      {unknown > 0 && (
        <Text size="sm" c="dimmed">
          {counted(unknown, 'more device')} of the last 30 days {unknown === 1 ? 'has' : 'have'} not said a version.
        </Text>
      )}
    </>
  );
}

function versionRows({ version, steps, oldest_version }: SchemaView, { devices }: SchemaDiff): readonly VersionRow[] {
  return Array.from({ length: version }, (_, index) => version - index).map((number) => ({
    version: number,
    steps: number === 1 ? null : (steps[number - 2] ?? []),
    devices: devices[number] ?? 0,
    state: number === version ? 'present' : number < oldest_version ? 'refused' : null,
  }));
}

function StepsInWords({ steps }: Pick<VersionRow, 'steps'>) {
  if (steps === null) return 'The first version.';
  if (steps.length === 0) return 'No steps: stored objects stay as they are.';
  return (
    <ul className="steps">
      {steps.map((step) => (
        <li key={JSON.stringify(step)} className="long">
          {stepWords(step)}
        </li>
      ))}
    </ul>
  );
}
