import { Button, Checkbox, Group, Menu, Text } from '@mantine/core';
import type { References } from '@tidemark/protocol';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { SERVER_URL } from '../api/client.ts';
import { pushCurl, quoted } from '../api/curl.ts';
import {
  type Listed,
  type ObjectOwner,
  type ObjectPages,
  type ObjectRow,
  useObjectPages,
} from '../api/object-pages.ts';
import { Empty } from '../components/command.tsx';
import { counted } from '../components/counted.ts';
import { Failure } from '../components/loaded.tsx';
import { type GridColumn, VirtualGrid } from '../components/virtual-grid.tsx';
import { AttributeCell } from './attribute-cell.tsx';
import { isEditedInPlace, valueIn } from './cell-value.ts';
import { addWeights, attributesIn, type ColumnWeights } from './column-weights.ts';
import { ID_FIELD } from './object-conditions.ts';
import { ownerBody, ownerFlag, ownerOptions } from './object-owner.ts';
import type { Sorted } from './object-view.ts';
import type { CellEdits } from './use-cell-edits.ts';

const COLUMNS_SHOWN = 5;
const ROWS_IN_VIEW = 15;
const SEQ_WEIGHT = 0.75;
/** No attribute has this name. */
export const SEQ_FIELD = '*seq';

interface ObjectRowsProps {
  readonly owner: ObjectOwner;
  readonly references: References;
  readonly listed: Listed;
  readonly sorted: Sorted | null;
  readonly selected: ReadonlySet<string>;
  readonly onOpen: (row: ObjectRow) => void;
  readonly onSelect: (row: ObjectRow) => void;
  readonly onSort: (column: string) => void;
  /** Told which attributes were seen. */
  readonly onNames: (names: readonly string[]) => void;
  /** Null: cells cannot be edited. */
  readonly edits: CellEdits | null;
}

/** The rows of a list, whose pages are loaded as they are reached. */
export function ObjectRows({ owner, listed, onNames, ...props }: ObjectRowsProps) {
  const [shown, setShown] = useState<readonly [number, number]>([0, 1]);
  const [chosen, setChosen] = useState<readonly string[] | null>(null);
  const [known, setKnown] = useState<ColumnWeights>(new Map());
  const pages = useObjectPages(owner, listed, shown);
  const onShown = useCallback((from: number, to: number) => setShown([from, to]), []);
  const rows = Array.from({ length: shown[1] - shown[0] }, (_, index) => pages.rowAt(shown[0] + index));
  const weights = addWeights(known, rows);
  if (weights.size > known.size) setKnown(weights);
  const names = attributesIn(weights);
  useEffect(() => onNames(attributesIn(known)), [known, onNames]);
  // While another list is loaded, its rows stand where those of the last one were.
  const before = useRef(0);
  const isLoading = pages.count === 0 && !pages.isComplete;
  useEffect(() => {
    if (!isLoading) before.current = Math.min(pages.count, ROWS_IN_VIEW);
  });
  const attributes = chosen ?? names.slice(0, COLUMNS_SHOWN);
  const columns = useColumns(attributes, { owner, weights: known, ...props });
  if (pages.error !== null) return <Failure error={pages.error} onRetry={pages.retry} />;
  const isFiltered = listed.view.filter !== undefined;
  if (pages.count === 0 && pages.isComplete && !isFiltered) return <NoObjects owner={owner} />;
  const { onOpen, onSelect, onSort, edits } = props;
  const open = ({ row, column }: { readonly row: ObjectRow; readonly column: string }) => {
    const isAttribute = column !== ID_FIELD && column !== SEQ_FIELD;
    if (isAttribute && edits !== null && isEditedInPlace(valueIn(row, column))) edits.open(row.id, column);
    else onOpen(row);
  };
  return (
    <>
      <Group gap="sm" justify="space-between">
        <Text size="xs" c="dimmed" role="status">
          {statusWords(pages, isFiltered)}
        </Text>
        <ColumnsMenu names={names} shown={attributes} onChange={setChosen} />
      </Group>
      <VirtualGrid
        label="Objects"
        list={listed}
        count={isLoading ? before.current : pages.count}
        rowAt={pages.rowAt}
        columns={columns}
        onShown={onShown}
        onOpen={open}
        onSelect={onSelect}
        onSort={onSort}
        onUndo={edits?.undo ?? ignore}
      />
    </>
  );
}

const ignore = () => undefined;

function statusWords({ size, matches, count, read, isComplete }: ObjectPages, isFiltered: boolean): string {
  if (size === undefined) return isFiltered ? 'Searching …' : 'Loading …';
  const objects = counted(size, 'object');
  const reached = `${count.toLocaleString('en')} reached so far: scroll for more`;
  if (!isFiltered) return isComplete ? objects : `${objects}, ${reached}`;
  if (matches == null)
    return `${counted(count, 'object')} found in the first ${read.toLocaleString('en')} of ${objects}`;
  return `${matches.toLocaleString('en')} of ${objects}${isComplete ? '' : `, ${reached}`}`;
}

type Columns = Pick<
  ObjectRowsProps,
  'owner' | 'references' | 'sorted' | 'selected' | 'onOpen' | 'onSelect' | 'edits'
> & {
  readonly weights: ColumnWeights;
};

function useColumns(names: readonly string[], props: Columns): readonly GridColumn<ObjectRow>[] {
  const { owner, references, sorted, selected, onOpen, onSelect, edits, weights } = props;
  return useMemo(() => {
    const sortOf = (column: string) => (sorted?.column === column ? sorted.direction : null);
    const linkTo = (name: string) =>
      Object.hasOwn(references, name) ? referenceIn(owner, references[name] ?? '') : null;
    return [
      {
        id: ID_FIELD,
        title: 'Id',
        weight: weights.get(ID_FIELD) ?? 1,
        sorted: sortOf(ID_FIELD),
        cell: (row: ObjectRow) => (
          <IdCell row={row} isSelected={selected.has(row.id)} onOpen={onOpen} onSelect={onSelect} />
        ),
      },
      ...names.map((name) => ({
        id: name,
        title: name,
        weight: weights.get(name) ?? 1,
        sorted: sortOf(name),
        cell: (row: ObjectRow) => (
          <AttributeCell
            key={row.id}
            row={row}
            name={name}
            referenceTo={linkTo(name)}
            edit={edits === null ? null : edits.cell(row, name)}
          />
        ),
      })),
      {
        id: SEQ_FIELD,
        title: 'Seq',
        weight: SEQ_WEIGHT,
        sorted: sortOf(SEQ_FIELD),
        cell: ({ seq }: ObjectRow) => <span data-kind="number">{seq.toLocaleString('en')}</span>,
      },
    ];
  }, [names, owner, references, sorted, selected, onOpen, onSelect, edits, weights]);
}

/** The address of an object of another source, of the same user or group where it has one. */
function referenceIn(owner: ObjectOwner, source: string): (id: string) => object {
  return (object) => ({ to: '/data', search: { source, ...ownerOptions(owner), object } });
}

interface IdCellProps extends Pick<ObjectRowsProps, 'onOpen' | 'onSelect'> {
  readonly row: ObjectRow;
  readonly isSelected: boolean;
}

function IdCell({ row, isSelected, onOpen, onSelect }: IdCellProps) {
  return (
    <Group gap={8} wrap="nowrap">
      <Checkbox
        size="xs"
        aria-label={`Select ${row.id}`}
        checked={isSelected}
        onChange={() => onSelect(row)}
        tabIndex={-1}
      />
      <button
        type="button"
        className="grid-open name"
        title="Open the object"
        tabIndex={-1}
        onClick={() => onOpen(row)}
      >
        {row.id}
      </button>
    </Group>
  );
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
