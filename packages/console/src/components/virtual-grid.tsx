import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { isUndoKey } from './undo-key.ts';

type SortDirection = 'asc' | 'desc';

export interface GridColumn<T> {
  /** Distinguishes the column from all others. */
  readonly id: string;
  readonly title: string;
  /** The share of the width that the column gets; 1 is usual. */
  readonly weight: number;
  readonly cell: (row: T) => ReactNode;
  /** How the rows are sorted by this column; null: they are not. */
  readonly sorted: SortDirection | null;
}

/** A cell of a row. */
export interface GridCell<T> {
  readonly row: T;
  readonly column: string;
}

interface VirtualGridProps<T> {
  readonly label: string;
  /** What is listed; the rows of another list are shown from the first one on. */
  readonly list: unknown;
  readonly count: number;
  readonly rowAt: (index: number) => T | undefined;
  readonly columns: readonly GridColumn<T>[];
  /** Told which rows are shown: from, to. */
  readonly onShown: (from: number, to: number) => void;
  /** Enter, or a double click, on a cell. */
  readonly onOpen: (cell: GridCell<T>) => void;
  /** Space selects the row. */
  readonly onSelect: (row: T) => void;
  readonly onSort: (column: string) => void;
  /** Ctrl+Z. */
  readonly onUndo: () => void;
}

/** The least width of a column of weight 1. */
const COLUMN_REM = 8.5;
const ROW_PX = 36;
const VIEW_PX = 560;
/** Rows rendered above and below those in view. */
const SPARE_ROWS = 8;
/** Browsers do not lay out elements that are much higher. */
const HEIGHT_PX_MAX = 15_000_000;
/** The row of the titles. */
const HEAD = -1;
const PAGE_ROWS = 12;

interface Place {
  readonly row: number;
  readonly column: number;
}

/**
 * A table that only renders the rows in view. It has the focus, and arrow keys move between its cells and titles: Enter opens a cell
 * or sorts by a title, Space selects the row.
 */
export function VirtualGrid<T>(props: VirtualGridProps<T>) {
  const { label, list, count, rowAt, columns, onShown, onOpen } = props;
  const view = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState<Place>({ row: 0, column: 0 });
  const from = Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS);
  const to = Math.min(count, Math.ceil((top + VIEW_PX) / ROW_PX) + SPARE_ROWS);
  useEffect(() => onShown(from, to), [onShown, from, to]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the list is what matters
  useEffect(() => {
    if (view.current !== null) view.current.scrollTop = 0;
    setActive(({ row, column }) => ({ row: Math.min(row, 0), column }));
  }, [list]);
  const move = (place: Place) => {
    const row = Math.max(HEAD, Math.min(count - 1, place.row));
    const column = Math.max(0, Math.min(columns.length - 1, place.column));
    setActive({ row, column });
    if (view.current !== null) reveal(view.current, { row, column }, columns);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    // Keys in a field or on a button inside belong to it.
    if (event.target !== event.currentTarget || !pressed(event, { ...props, active, move })) return;
    event.preventDefault();
  };
  // The same widths for every row, whatever is in it, so that the columns are aligned.
  const template = {
    gridTemplateColumns: columns.map(({ weight }) => `minmax(0, ${weight}fr)`).join(' '),
    minWidth: `${weightOf(columns) * COLUMN_REM}rem`,
  };
  const indexes = Array.from({ length: Math.max(0, to - from) }, (_, offset) => from + offset);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table element cannot leave rows out
    <div
      className="card flush grid"
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-colcount={columns.length}
      aria-activedescendant={cellId(active)}
      tabIndex={0}
      ref={view}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      <GridHead {...props} template={template} active={active} />
      <div role="presentation" className="grid-body" style={{ height: Math.min(count * ROW_PX, HEIGHT_PX_MAX) }}>
        {indexes.map((index) => (
          <GridRow
            key={index}
            index={index}
            row={rowAt(index)}
            columns={columns}
            template={template}
            active={active}
            onActive={(column) => setActive({ row: index, column })}
            onOpen={onOpen}
          />
        ))}
      </div>
    </div>
  );
}

type Pressed<T> = VirtualGridProps<T> & { readonly active: Place; readonly move: (place: Place) => void };

/** Does what a key says. Returns whether it says something. */
function pressed<T>(event: KeyboardEvent, props: Pressed<T>): boolean {
  const { count, columns, active, move, rowAt, onOpen, onSelect, onSort, onUndo } = props;
  const { row, column } = active;
  const to: Readonly<Record<string, Place>> = {
    ArrowDown: { row: row + 1, column },
    ArrowUp: { row: row - 1, column },
    ArrowLeft: { row, column: column - 1 },
    ArrowRight: { row, column: column + 1 },
    PageDown: { row: row + PAGE_ROWS, column },
    PageUp: { row: Math.max(0, row - PAGE_ROWS), column },
    Home: { row: 0, column },
    End: { row: count - 1, column },
  };
  const place = to[event.key];
  const object = rowAt(row);
  const { id = '' } = columns[column] ?? {};
  if (place !== undefined) move(place);
  else if (isUndoKey(event)) onUndo();
  else if (event.key === 'Enter' && row === HEAD) onSort(id);
  else if ((event.key === 'Enter' || event.key === 'F2') && object !== undefined) onOpen({ row: object, column: id });
  else if (event.key === ' ' && object !== undefined) onSelect(object);
  else return false;
  return true;
}

function cellId({ row, column }: Place): string {
  return `cell-${row}-${column}`;
}

type Weighed = Pick<GridColumn<never>, 'weight'>;

function weightOf(columns: readonly Weighed[]): number {
  return columns.reduce((sum, { weight }) => sum + weight, 0);
}

/** Scrolls to a cell. */
function reveal(view: HTMLElement, { row, column }: Place, columns: readonly Weighed[]): void {
  const next = Math.max(0, row);
  if (next * ROW_PX < view.scrollTop) view.scrollTop = next * ROW_PX;
  else if ((next + 2) * ROW_PX > view.scrollTop + view.clientHeight)
    view.scrollTop = (next + 2) * ROW_PX - view.clientHeight;
  const start = (index: number) => (weightOf(columns.slice(0, index)) / weightOf(columns)) * view.scrollWidth;
  // The first column stays, and covers what is at the left edge.
  const left = column === 0 ? 0 : start(column) - start(1);
  if (left < view.scrollLeft) view.scrollLeft = left;
  else if (start(column + 1) > view.scrollLeft + view.clientWidth)
    view.scrollLeft = Math.ceil(start(column + 1)) - view.clientWidth;
}

interface Template {
  readonly gridTemplateColumns: string;
  readonly minWidth: string;
}

type GridHeadProps<T> = Pick<VirtualGridProps<T>, 'columns' | 'onSort'> & {
  readonly template: Template;
  readonly active: Place;
};

const ARIA_SORT = { asc: 'ascending', desc: 'descending' } as const;
const ARROWS = { asc: '▲', desc: '▼' } as const;

function GridHead<T>({ columns, onSort, template, active }: GridHeadProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: the grid has the focus and the keys
    <div className="grid-head" role="row" aria-rowindex={1} style={template}>
      {columns.map(({ id, title, sorted }, column) => (
        // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above
        <div
          key={id}
          id={cellId({ row: HEAD, column })}
          role="columnheader"
          aria-colindex={column + 1}
          aria-sort={sorted === null ? 'none' : ARIA_SORT[sorted]}
          data-active={active.row === HEAD && active.column === column}
        >
          <button
            type="button"
            className="grid-sort"
            title={`Sort by ${title}`}
            tabIndex={-1}
            onClick={() => onSort(id)}
          >
            <span className="name">{title}</span>
            {sorted !== null && <span aria-hidden>{ARROWS[sorted]}</span>}
          </button>
        </div>
      ))}
    </div>
  );
}

interface GridRowProps<T> extends Pick<VirtualGridProps<T>, 'columns' | 'onOpen'> {
  readonly index: number;
  readonly row: T | undefined;
  readonly template: Template;
  readonly active: Place;
  readonly onActive: (column: number) => void;
}

function GridRow<T>({ index, row, columns, template, active, onActive, onOpen }: GridRowProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: the grid has the focus and the keys
    <div
      className="grid-row"
      role="row"
      aria-rowindex={index + 2}
      data-active={index === active.row}
      style={{ ...template, top: index * ROW_PX }}
    >
      {columns.map(({ id, cell }, column) => (
        // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: as above
        <div
          key={id}
          id={cellId({ row: index, column })}
          role="gridcell"
          className="grid-cell"
          aria-colindex={column + 1}
          data-active={index === active.row && column === active.column}
          onClick={() => onActive(column)}
          onDoubleClick={() => row !== undefined && onOpen({ row, column: id })}
        >
          {row === undefined ? '…' : cell(row)}
        </div>
      ))}
    </div>
  );
}
