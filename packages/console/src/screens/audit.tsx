import { Badge } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { AuditFact } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';

const PAGE_FACTS = 50;

const COLUMNS: readonly Column<AuditFact>[] = [
  { title: 'When', cell: ({ at }) => <Moment at={at} /> },
  { title: 'Who', cell: ({ actor }) => <span className="name">{actor ?? 'nobody known'}</span> },
  { title: 'What', cell: ({ action }) => action },
  { title: 'To what', cell: ({ target }) => <span className="long">{target}</span> },
  {
    title: 'Result',
    cell: ({ result, count }) => (
      <Badge variant="light" color={result === 'ok' ? 'green' : 'red'}>
        {result}
        {count > 1 && ` × ${count}`}
      </Badge>
    ),
  },
  { title: 'From', cell: ({ address }) => address },
];

export function Audit() {
  const query = useInfiniteQuery({
    queryKey: ['audit'],
    queryFn: ({ pageParam: after }) => client.audit.list({ limit: PAGE_FACTS, ...(after === null ? {} : { after }) }),
    initialPageParam: null as string | null,
    getNextPageParam: (page) => (page.length < PAGE_FACTS ? null : (page.at(-1)?.id ?? null)),
  });
  return (
    <Page title="Audit" about="Who changed what, newest first. Refused attempts are listed, too.">
      <Loaded query={query}>
        {({ pages }) => <DataTable label="Audit trail" rows={pages.flat()} keyOf={({ id }) => id} columns={COLUMNS} />}
      </Loaded>
      <PagesButton query={query}>Older entries</PagesButton>
    </Page>
  );
}
