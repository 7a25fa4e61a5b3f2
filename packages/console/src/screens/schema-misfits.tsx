import { Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { SchemaReport } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';

const REFRESH_MS = 5_000;

type Sample = SchemaReport['samples'][number];

const COLUMNS: readonly Column<Sample>[] = [
  { title: 'Object', cell: ({ object }) => <span className="long">{object}</span> },
  { title: 'Attribute', cell: ({ attribute }) => <span className="long">{attribute}</span> },
  { title: 'What does not fit', cell: ({ detail }) => <span className="long">{detail}</span> },
  { title: 'Written', cell: ({ at }) => <Moment at={at} /> },
];

/** What the schema would have refused if it were enforced. */
export function SchemaMisfits({ source, version }: { readonly source: string; readonly version: number }) {
  const query = useQuery({
    queryKey: ['sources', source, 'schema', 'report', version],
    queryFn: () => client.sources.schemaReport(source),
    refetchInterval: REFRESH_MS,
  });
  return (
    <Loaded query={query}>
      {({ objects, samples }) => (
        <Stack gap="xs">
          <Text size="sm" role="status">
            {objects === 0
              ? 'Everything fits that this server has written since it started or the present version was set.'
              : `${counted(objects, 'object')} did not fit and would have been refused, as far as this server has counted since it started or the present version was set.`}
          </Text>
          {samples.length > 0 && (
            <DataTable
              label="Objects that do not fit"
              rows={samples}
              keyOf={(sample) => JSON.stringify(sample)}
              columns={COLUMNS}
            />
          )}
        </Stack>
      )}
    </Loaded>
  );
}
