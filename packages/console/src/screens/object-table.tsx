import { Button, Checkbox, Group, Menu, Stack, Text } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useCallback, useMemo, useState } from 'react';
import { SERVER_URL } from '../api/client.ts';
import { pushCurl, quoted } from '../api/curl.ts';
import {
  type ListStart,
  type ObjectOwner,
  type ObjectRow,
  useObjectPages,
  useObjectSearch,
} from '../api/object-pages.ts';
import { useIsAdmin } from '../api/session.ts';
import { Action } from '../components/action.tsx';
import { Empty } from '../components/command.tsx';
import { counted } from '../components/counted.ts';
import { TextField } from '../components/fields.tsx';
import { Failure } from '../components/loaded.tsx';
import { type GridColumn, VirtualGrid } from '../components/virtual-grid.tsx';
import { AttributeCell, type EditCell } from './attribute-cell.tsx';
import { EditObject } from './edit-object.tsx';
import { ExportObjects } from './export-objects.tsx';
import { ImportObjects } from './import-objects.tsx';
import { ownerBody, ownerFlag, ownerOptions } from './object-owner.ts';

const COLUMNS_SHOWN = 5;
const COLUMNS_MAX = 50;

interface ObjectTableProps {
  readonly owner: ObjectOwner;
  readonly adding: string | undefined;
}

/** The objects of an owner, with what can be done to them. */
export function ObjectTable({ owner, adding }: ObjectTableProps) {
  const [start, setStart] = useState<ListStart>({});
  const [filter, setFilter] = useState('');
  const [generation, setGeneration] = useState(0);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [open, setOpen] = useState<ObjectRow | 'new' | null>(adding === undefined ? null : 'new');
  const [draft, setDraft] = useState<ObjectRow['attributes'] | null>(null);
  const cache = useQueryClient();
  const reload = async (place: ListStart = start) => {
    setSelected(new Set());
    await cache.invalidateQueries({ queryKey: ['objects'] });
    setStart(place);
    setGeneration((count) => count + 1);
  };
  const select = ({ id }: ObjectRow) =>
    setSelected((before) =>
      before.has(id) ? new Set([...before].filter((one) => one !== id)) : new Set([...before, id]),
    );
  const edit: EditCell = (row, name, value) => {
    setDraft({ ...row.attributes, [name]: value });
    setOpen(row);
  };
  const close = () => {
    setOpen(null);
    setDraft(null);
  };
  const isAdmin = useIsAdmin();
  const props = { owner, start, selected, onOpen: setOpen, onSelect: select, onEdit: isAdmin ? edit : null };
  const key = JSON.stringify([start, generation]);
  return (
    <Stack gap="sm">
      <Group gap="sm" align="end" justify="space-between">
        <Group gap="sm" align="end">
          <JumpTo onJump={setStart} isMoved={start.from !== undefined} />
          <TextField
            label="Filter"
            placeholder="text, or name=text"
            size="xs"
            type="search"
            value={filter}
            onText={setFilter}
          />
        </Group>
        <Tools owner={owner} selected={selected} onNew={() => setOpen('new')} onChanged={reload} />
      </Group>
      {filter === '' ? (
        <AllObjects key={key} {...props} />
      ) : (
        <FoundObjects key={`${key} ${filter}`} {...props} text={filter} />
      )}
      <EditObject
        key={open === null ? 'closed' : open === 'new' ? 'new' : open.id}
        owner={owner}
        object={open}
        newId={adding ?? ''}
        draft={draft}
        onClose={close}
        onSaved={(id) => reload(id === null ? start : { from: id })}
      />
    </Stack>
  );
}

interface JumpToProps {
  readonly onJump: (start: ListStart) => void;
  readonly isMoved: boolean;
}

function JumpTo({ onJump, isMoved }: JumpToProps) {
  const [id, setId] = useState('');
  const jump = (event: FormEvent) => {
    event.preventDefault();
    onJump(id === '' ? {} : { from: id });
  };
  return (
    <form onSubmit={jump}>
      <Group gap={6} align="end">
        <TextField label="Jump to id" size="xs" value={id} onText={setId} />
        <Button size="xs" variant="default" type="submit">
          Jump
        </Button>
        {isMoved && (
          <Button size="xs" variant="default" onClick={() => onJump({})}>
            Show from the beginning
          </Button>
        )}
      </Group>
    </form>
  );
}

interface ToolsProps {
  readonly owner: ObjectOwner;
  readonly selected: ReadonlySet<string>;
  readonly onNew: () => void;
  readonly onChanged: () => Promise<void>;
}

function Tools({ owner, selected, onNew, onChanged }: ToolsProps) {
  const isAdmin = useIsAdmin();
  const ids = [...selected];
  return (
    <Group gap="xs">
      <ExportObjects owner={owner} />
      {isAdmin && <ImportObjects owner={owner} onDone={onChanged} />}
      {isAdmin && ids.length > 0 && (
        <Action
          label={`Delete ${ids.length}`}
          title={`Delete ${counted(ids.length, 'object')}`}
          verb="Delete"
          button={{ variant: 'light', color: 'red', size: 'xs' }}
          typedName={ids.length === 1 ? (ids[0] ?? '') : counted(ids.length, 'object')}
          call={(api) => api.push.deletes(owner.source, ids, ownerOptions(owner))}
          curl={pushCurl(owner.source, { ...ownerBody(owner), objects: ids }, 'push_deletes')}
          onDone={onChanged}
        >
          Devices delete them at their next pull.
        </Action>
      )}
      {isAdmin && (
        <Button size="xs" aria-haspopup="dialog" onClick={onNew}>
          Add object
        </Button>
      )}
    </Group>
  );
}

interface RowsProps {
  readonly owner: ObjectOwner;
  readonly start: ListStart;
  readonly selected: ReadonlySet<string>;
  readonly onOpen: (row: ObjectRow) => void;
  readonly onSelect: (row: ObjectRow) => void;
  /** Null: cells cannot be edited. */
  readonly onEdit: EditCell | null;
}

function AllObjects({ owner, start, ...props }: RowsProps) {
  const [shown, setShown] = useState<readonly [number, number]>([0, 1]);
  const pages = useObjectPages(owner, start, shown);
  const onShown = useCallback((from: number, to: number) => setShown([from, to]), []);
  if (pages.error !== null) return <Failure error={pages.error} onRetry={pages.retry} />;
  if (pages.count === 0 && pages.isComplete) return <NoObjects owner={owner} />;
  const rows = Array.from({ length: shown[1] - shown[0] }, (_, index) => pages.rowAt(shown[0] + index));
  return (
    <>
      <Text size="xs" c="dimmed" role="status">
        {pages.size === undefined ? 'Loading …' : counted(pages.size, 'object')}
        {!pages.isComplete && `, ${pages.count.toLocaleString('en')} reached so far: scroll for more`}
      </Text>
      <Rows {...props} count={pages.count} rowAt={pages.rowAt} seen={rows} onShown={onShown} />
    </>
  );
}

function FoundObjects({ owner, start, text, ...props }: RowsProps & { readonly text: string }) {
  const { matches, searched, size, isBusy, isComplete, error, searchOn, retry } = useObjectSearch(owner, start, text);
  const rowAt = (index: number) => matches[index];
  if (error !== null) return <Failure error={error} onRetry={retry} />;
  return (
    <>
      <Group gap="xs">
        <Text size="xs" c="dimmed" role="status">
          {matches.length.toLocaleString('en')} found. Searched {searched.toLocaleString('en')} of{' '}
          {size?.toLocaleString('en') ?? '…'} objects{isBusy ? ' so far …' : '.'}
        </Text>
        {!isBusy && !isComplete && (
          <Button size="compact-xs" variant="default" onClick={searchOn}>
            Search further
          </Button>
        )}
      </Group>
      <Rows {...props} count={matches.length} rowAt={rowAt} seen={matches} onShown={ignore} />
    </>
  );
}

const ignore = () => undefined;

interface GridRowsProps extends Pick<RowsProps, 'selected' | 'onOpen' | 'onSelect' | 'onEdit'> {
  readonly count: number;
  readonly rowAt: (index: number) => ObjectRow | undefined;
  /** Rows whose attributes become columns. */
  readonly seen: readonly (ObjectRow | undefined)[];
  readonly onShown: (from: number, to: number) => void;
}

function Rows({ count, rowAt, seen, selected, onShown, onOpen, onSelect, onEdit }: GridRowsProps) {
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  const [known, setKnown] = useState<readonly string[]>([]);
  const names = namesIn(known, seen);
  if (names.length > known.length) setKnown(names);
  const shown = chosen ?? names.slice(0, COLUMNS_SHOWN);
  const columns = useMemo(() => columnsOf(shown, { selected, onSelect, onEdit }), [shown, selected, onSelect, onEdit]);
  return (
    <>
      <ColumnsMenu names={names} shown={shown} onChange={setChosen} />
      <VirtualGrid
        label="Objects"
        count={count}
        rowAt={rowAt}
        columns={columns}
        onShown={onShown}
        onOpen={onOpen}
        onSelect={onSelect}
      />
    </>
  );
}

function namesIn(known: readonly string[], rows: readonly (ObjectRow | undefined)[]): readonly string[] {
  const names = new Set(known);
  for (const row of rows) for (const name of Object.keys(row?.attributes ?? {})) names.add(name);
  return [...names].slice(0, COLUMNS_MAX);
}

function columnsOf(
  names: readonly string[],
  { selected, onSelect, onEdit }: Pick<RowsProps, 'selected' | 'onSelect' | 'onEdit'>,
): readonly GridColumn<ObjectRow>[] {
  return [
    {
      title: 'Id',
      cell: (row) => (
        <Group gap={8} wrap="nowrap">
          <Checkbox
            size="xs"
            aria-label={`Select ${row.id}`}
            checked={selected.has(row.id)}
            onClick={(event) => event.stopPropagation()}
            onChange={() => onSelect(row)}
            tabIndex={-1}
          />
          <span className="name">{row.id}</span>
        </Group>
      ),
    },
    ...names.map((name) => ({
      title: name,
      cell: (row: ObjectRow) => <AttributeCell key={row.id} row={row} name={name} onEdit={onEdit} />,
    })),
    { title: 'Seq', cell: ({ seq }) => seq.toLocaleString('en') },
  ];
}

interface ColumnsMenuProps {
  readonly names: readonly string[];
  readonly shown: readonly string[];
  readonly onChange: (names: readonly string[]) => void;
}

/** Chooses among the attributes that were seen. */
function ColumnsMenu({ names, shown, onChange }: ColumnsMenuProps) {
  if (names.length === 0) return null;
  return (
    <Group>
      <Menu closeOnItemClick={false} position="bottom-start" withinPortal={false}>
        <Menu.Target>
          <Button size="compact-xs" variant="default">
            Choose columns ({shown.length} of {names.length})
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {names.map((name) => (
            <Menu.Item
              key={name}
              role="menuitemcheckbox"
              aria-checked={shown.includes(name)}
              onClick={() => onChange(shown.includes(name) ? shown.filter((one) => one !== name) : [...shown, name])}
            >
              <span className="name">
                {shown.includes(name) ? '✓ ' : ''}
                {name}
              </span>
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
    </Group>
  );
}

function NoObjects({ owner }: { readonly owner: ObjectOwner }) {
  return (
    <Empty
      title="No objects yet"
      curl={pushCurl(owner.source, { ...ownerBody(owner), objects: { '1': { title: 'The first' } } })}
      cli={`tidemark --url ${SERVER_URL} push objects ${quoted(owner.source)}${ownerFlag(owner)} objects.json`}
    >
      Add one with the button above, import a file, or use one of these commands.
    </Empty>
  );
}
