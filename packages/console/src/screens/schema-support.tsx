import { Text } from '@mantine/core';
import type { SchemaProposal } from '@tidemark/protocol';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { FirstRows } from './first-rows.tsx';
import { type SupportedStatement, statementsOf } from './schema-change.ts';

const STATEMENTS_SHOWN = 10;

const COLUMNS: readonly Column<SupportedStatement>[] = [
  { title: 'Place in the schema', cell: ({ pointer }) => <span className="long">{pointer}</span> },
  { title: 'Statement', cell: ({ statement }) => <span className="long">{statement}</span> },
  { title: 'Values that support it', cell: ({ support }) => support.toLocaleString('en'), isNumber: true },
];

/** How many values support each statement of a proposed schema. */
export function SchemaSupport({ proposal }: { readonly proposal: SchemaProposal }) {
  if (proposal.objects === 0) {
    return (
      <Text size="sm" role="status">
        The source has no stored objects, so nothing can be proposed.
      </Text>
    );
  }
  return (
    <>
      <Text size="sm" role="status">
        Proposed from {counted(proposal.objects, 'stored object')}. Look at statements that few values support.
      </Text>
      <FirstRows rows={statementsOf(proposal)} shownMax={STATEMENTS_SHOWN} noun="statements">
        {(rows) => (
          <DataTable label="Support of the proposal" rows={rows} keyOf={({ pointer }) => pointer} columns={COLUMNS} />
        )}
      </FirstRows>
    </>
  );
}
