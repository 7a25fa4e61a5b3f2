import { Text } from '@mantine/core';
import type { SourceSchema } from '@tidemark/protocol';
import { type Column, DataTable } from '../components/data-table.tsx';
import { FirstRows } from './first-rows.tsx';
import { type AttributeLine, attributeLines } from './schema-words.ts';

const ATTRIBUTES_SHOWN = 100;

const COLUMNS: readonly Column<AttributeLine>[] = [
  { title: 'Attribute', cell: ({ path }) => <span className="long">{path.join(' › ')}</span> },
  { title: 'Type', cell: ({ type }) => <span className="long">{type}</span> },
  { title: 'Required', cell: ({ isRequired }) => (isRequired ? 'yes' : 'no') },
  {
    title: 'Description',
    cell: ({ description, isDeprecated }) => (
      <span className="long">{`${isDeprecated ? 'Deprecated. ' : ''}${description}` || '–'}</span>
    ),
  },
];

/** The attributes of a schema and their members, a row each. */
export function SchemaAttributes({ schema }: { readonly schema: SourceSchema }) {
  const lines = attributeLines(schema);
  if (lines.length === 0) {
    return (
      <Text size="sm" c="dimmed">
        The schema names no attributes.
      </Text>
    );
  }
  return (
    <FirstRows rows={lines} shownMax={ATTRIBUTES_SHOWN} noun="attributes">
      {(rows) => (
        <DataTable
          label="Attributes of the schema"
          rows={rows}
          keyOf={({ path }) => JSON.stringify(path)}
          columns={COLUMNS}
        />
      )}
    </FirstRows>
  );
}
