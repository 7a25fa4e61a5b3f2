import type { AuditFact } from '@tidemark/protocol';
import { client } from '../api/client.ts';
import { usePages } from '../api/pages.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { StateBadge } from '../components/state-badge.tsx';

const PAGE_FACTS = 50;

const COLUMNS: readonly Column<AuditFact>[] = [
  { title: 'When', cell: ({ at }) => <Moment at={at} /> },
  { title: 'Who', cell: ({ actor }) => <span className="name">{actor ?? 'nobody known'}</span> },
  { title: 'Action', cell: ({ action }) => action },
  { title: 'Path', cell: ({ target }) => <span className="long">{target}</span> },
  {
    title: 'Result',
    cell: ({ result, count }) => (
      <StateBadge tone={result === 'ok' ? 'good' : 'bad'}>{count > 1 ? `${result} × ${count}` : result}</StateBadge>
    ),
  },
  { title: 'From', cell: ({ address }) => address },
];

export function Audit() {
  const query = usePages({
    queryKey: ['audit'],
    limit: PAGE_FACTS,
    read: (page) => client.audit.list(page),
    nameOf: ({ id }) => id,
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
