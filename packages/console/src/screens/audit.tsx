import { Button, Group, Menu, NativeSelect, Stack, Text } from '@mantine/core';
import { useInfiniteQuery } from '@tanstack/react-query';
import type { AuditChange, AuditFact, AuditSubject } from '@tidemark/protocol';
import { AUDIT_CSV_HEAD, auditCsvRow } from '@tidemark/protocol/admin/audit-csv';
import { useState } from 'react';
import { client } from '../api/client.ts';
import { counted } from '../components/counted.ts';
import { type Column, DataTable } from '../components/data-table.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextField } from '../components/fields.tsx';
import { JsonView } from '../components/json-view.tsx';
import { Failure, Loaded } from '../components/loaded.tsx';
import { Moment } from '../components/moment.tsx';
import { NameLink } from '../components/name-link.tsx';
import { Page } from '../components/page.tsx';
import { PagesButton } from '../components/pages-button.tsx';
import { saveFile } from '../components/save-file.ts';
import { StateBadge } from '../components/state-badge.tsx';
import { useAddress } from '../components/use-address.ts';
import { ACTION_WORDS, type AuditFilters, actionWords, actorWords, resultWords, searchOf } from './audit-words.ts';
import { DeviceLink } from './device-link.tsx';
import { readAudit } from './read-audit.ts';

const PAGE_FACTS = 50;
/** Changes shown in the table; all others are in the dialog. */
const CHANGES_SHOWN = 2;

function columnsOf(onOpen: (fact: AuditFact) => void): readonly Column<AuditFact>[] {
  return [
    { title: 'When', cell: ({ at }) => <Moment at={at} /> },
    { title: 'Who', cell: (fact) => <span className="name">{actorWords(fact)}</span> },
    {
      title: 'Action',
      cell: (fact) => (
        <button
          type="button"
          className="name plain"
          aria-haspopup="dialog"
          title="Show all of it"
          onClick={() => onOpen(fact)}
        >
          {actionWords(fact.action)}
        </button>
      ),
    },
    {
      title: 'About',
      cell: (fact) => (
        <div className="about">
          <Subject subject={fact.subject} />
          <Changes fact={fact} shownMax={CHANGES_SHOWN} />
        </div>
      ),
    },
    {
      title: 'Result',
      cell: (fact) => {
        const { tone, words } = resultWords(fact);
        return <StateBadge tone={tone}>{words}</StateBadge>;
      },
    },
  ];
}

export function Audit() {
  const [filters, change] = useAddress<AuditFilters>('/audit');
  const [open, setOpen] = useState<AuditFact | null>(null);
  const search = searchOf(filters);
  const query = useInfiniteQuery({
    queryKey: ['audit', search],
    queryFn: ({ pageParam: after }) =>
      client.audit.search({ ...search, limit: PAGE_FACTS, ...(after === null ? {} : { after }) }),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
  });
  return (
    <Page
      title="Audit"
      about="Who changed what, newest first. Refused attempts are listed, too. Entries are kept for a year."
      actions={<Export search={search} />}
    >
      <Filters filters={filters} change={change} />
      <Loaded query={query}>
        {({ pages }) => {
          const facts = pages.flatMap((page) => page.facts);
          if (facts.length > 0) {
            return <DataTable label="Audit trail" rows={facts} keyOf={({ id }) => id} columns={columnsOf(setOpen)} />;
          }
          return (
            <Text size="sm" c="dimmed" className="card" role="status">
              {query.hasNextPage ? 'None among the newest entries. Older ones may match.' : 'No entry matches.'}
            </Text>
          );
        }}
      </Loaded>
      <PagesButton query={query}>Older entries</PagesButton>
      <Dialog title="Audit entry" isOpen={open !== null} onClose={() => setOpen(null)}>
        {open !== null && (
          <Stack gap="md">
            <Text size="sm" className="long">
              <b>{actorWords(open)}</b> {actionWords(open.action)}
            </Text>
            <Changes fact={open} shownMax={open.changes.length} />
            <JsonView label="The entry" value={open} />
          </Stack>
        )}
      </Dialog>
    </Page>
  );
}

interface FiltersProps {
  readonly filters: AuditFilters;
  readonly change: (changes: AuditFilters) => void;
}

function Filters({ filters, change }: FiltersProps) {
  return (
    <Group gap="sm" align="end">
      <TextField label="Who" size="xs" value={filters.actor ?? ''} onText={(actor) => change({ actor })} />
      <NativeSelect
        label="Action"
        size="xs"
        value={filters.action ?? ''}
        data={[
          { value: '', label: 'everything' },
          { value: 'objects.', label: 'any change of objects by hand' },
          ...Object.entries(ACTION_WORDS).map(([value, label]) => ({ value, label })),
        ]}
        onChange={(event) => change({ action: event.currentTarget.value })}
      />
      <TextField
        label="About"
        size="xs"
        placeholder="a name or an id"
        value={filters.about ?? ''}
        onText={(about) => change({ about })}
      />
      <TextField label="From" size="xs" type="date" value={filters.from ?? ''} onText={(from) => change({ from })} />
      <TextField label="To" size="xs" type="date" value={filters.to ?? ''} onText={(to) => change({ to })} />
    </Group>
  );
}

function Subject({ subject }: { readonly subject: AuditSubject }) {
  const { user_id, client_id, source, group, object_id, name } = subject;
  return (
    <span className="subjects">
      {source !== undefined && <NameLink kind="source" name={source} />}
      {object_id !== undefined && <span>object {object_id}</span>}
      {user_id !== undefined && <Names kind="user" names={user_id} />}
      {group !== undefined && <Names kind="group" names={group} />}
      {client_id !== undefined && <DeviceLink id={client_id} />}
      {name !== undefined && <span>{name}</span>}
    </span>
  );
}

/** One name is a link; several, and the sign for all, are not. */
function Names({ kind, names }: { readonly kind: 'user' | 'group'; readonly names: string }) {
  if (names === '*') return <span title={`The API says * for all ${kind}s.`}>all {kind}s</span>;
  return names.includes(', ') ? <span>{names}</span> : <NameLink kind={kind} name={names} />;
}

function Changes({ fact, shownMax }: { readonly fact: AuditFact; readonly shownMax: number }) {
  const { changes, objects_changed: objects, are_changes_cut: isCut } = fact;
  if (changes.length === 0) return objects === null ? null : counted(objects, 'object');
  const others = changes.length - shownMax;
  return (
    <Stack gap={2}>
      <ul className="difference" aria-label="Changes">
        {changes.slice(0, shownMax).map((change) => (
          <li key={`${change.object_id} ${change.attribute}`}>
            <Change change={change} hasObject={fact.subject.object_id === undefined} />
          </li>
        ))}
      </ul>
      {(others > 0 || isCut) && (
        <Text size="xs" c="dimmed">
          {others > 0 && !isCut ? `and ${counted(others, 'more change')}` : `in all ${counted(objects ?? 0, 'object')}`}
        </Text>
      )}
    </Stack>
  );
}

function Change({ change, hasObject }: { readonly change: AuditChange; readonly hasObject: boolean }) {
  const { object_id, attribute, old, new: now } = change;
  return (
    <>
      <b className="long">{hasObject ? `${object_id} ${attribute}` : attribute}</b>
      {old !== null && <del>{old}</del>}
      {now === null ? <span>removed</span> : <ins>{now}</ins>}
    </>
  );
}

/** Saves all entries that match as a file. */
function Export({ search }: { readonly search: ReturnType<typeof searchOf> }) {
  const [error, setError] = useState<unknown>(null);
  const [isBusy, setBusy] = useState(false);
  const run = async (name: string, type: string, write: (facts: readonly AuditFact[]) => readonly string[]) => {
    setBusy(true);
    setError(null);
    try {
      saveFile(name, type, write(await readAudit((page) => client.audit.search({ ...search, ...page }))));
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  const asCsv = () => run('audit.csv', 'text/csv', (facts) => [AUDIT_CSV_HEAD, ...facts.map(auditCsvRow)]);
  const asLines = () =>
    run('audit.jsonl', 'application/x-ndjson', (facts) => facts.map((fact) => `${JSON.stringify(fact)}\n`));
  return (
    <>
      {error !== null && <Failure error={error} />}
      <Menu position="bottom-end" withinPortal={false}>
        <Menu.Target>
          <Button size="sm" variant="default" loading={isBusy}>
            Export
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={asCsv}>CSV, for spreadsheets</Menu.Item>
          <Menu.Item onClick={asLines}>JSON, a line for each entry</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}
