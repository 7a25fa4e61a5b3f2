import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';

export interface GridColumn<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
}

interface VirtualGridProps<T> {
  readonly label: string;
  readonly count: number;
  readonly rowAt: (index: number) => T | undefined;
  readonly columns: readonly GridColumn<T>[];
  /** Told which rows are shown: from, to. */
  readonly onShown: (from: number, to: number) => void;
  readonly onOpen: (row: T) => void;
  /** Space selects the row. */
  readonly onSelect?: (row: T) => void;
}

/** The least width of a column. */
const COLUMN_REM = 10;
const ROW_PX = 36;
const VIEW_PX = 560;
/** Rows rendered above and below those in view. */
const SPARE_ROWS = 8;
/** Browsers do not lay out elements that are much higher. */
const HEIGHT_PX_MAX = 15_000_000;

/** A table that only renders the rows in view. Arrow keys move, Enter opens, Space selects. */
export function VirtualGrid<T>({ label, count, rowAt, columns, onShown, onOpen, onSelect }: VirtualGridProps<T>) {
  const view = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const [active, setActive] = useState(0);
  const from = Math.max(0, Math.floor(top / ROW_PX) - SPARE_ROWS);
  const to = Math.min(count, Math.ceil((top + VIEW_PX) / ROW_PX) + SPARE_ROWS);
  useEffect(() => onShown(from, to), [onShown, from, to]);
  const move = (index: number) => {
    const next = Math.max(0, Math.min(count - 1, index));
    setActive(next);
    const element = view.current;
    if (element === null) return;
    if (next * ROW_PX < element.scrollTop) element.scrollTop = next * ROW_PX;
    else if ((next + 2) * ROW_PX > element.scrollTop + element.clientHeight)
      element.scrollTop = (next + 2) * ROW_PX - element.clientHeight;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -count, End: count }[event.key];
    const row = rowAt(active);
    if (step !== undefined) move(active + step);
    else if (event.key === 'Enter' && row !== undefined) onOpen(row);
    else if (event.key === ' ' && row !== undefined) onSelect?.(row);
    else return;
    event.preventDefault();
  };
  // The same width for every row, whatever is in it, so that the columns are aligned.
  const template = {
    gridTemplateColumns: `repeat(${columns.length}, minmax(0, 1fr))`,
    minWidth: `${columns.length * COLUMN_REM}rem`,
  };
  const indexes = Array.from({ length: Math.max(0, to - from) }, (_, offset) => from + offset);
  return (
    // biome-ignore lint/a11y/useSemanticElements: a table element cannot leave rows out
    <div
      className="card flush grid"
      role="grid"
      aria-label={label}
      aria-rowcount={count + 1}
      aria-activedescendant={count === 0 ? undefined : `row-${active}`}
      tabIndex={0}
      ref={view}
      onScroll={(event) => setTop(event.currentTarget.scrollTop)}
      onKeyDown={onKeyDown}
    >
      {/* biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above */}
      <div className="grid-head" role="row" style={template}>
        {columns.map(({ title }) => (
          // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above
          <div key={title} role="columnheader" className="name" title={title}>
            {title}
          </div>
        ))}
      </div>
      <div role="presentation" className="grid-body" style={{ height: Math.min(count * ROW_PX, HEIGHT_PX_MAX) }}>
        {indexes.map((index) => (
          <GridRow
            key={index}
            index={index}
            row={rowAt(index)}
            columns={columns}
            template={template}
            isActive={index === active}
            onOpen={(row) => {
              setActive(index);
              onOpen(row);
            }}
          />
        ))}
      </div>
    </div>
  );
}

interface GridRowProps<T> {
  readonly index: number;
  readonly row: T | undefined;
  readonly columns: readonly GridColumn<T>[];
  readonly template: { readonly gridTemplateColumns: string; readonly minWidth: string };
  readonly isActive: boolean;
  readonly onOpen: (row: T) => void;
}

function GridRow<T>({ index, row, columns, template, isActive, onOpen }: GridRowProps<T>) {
  return (
    // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive lint/a11y/useKeyWithClickEvents: the grid has the focus and the keys
    <div
      id={`row-${index}`}
      className="grid-row"
      role="row"
      aria-rowindex={index + 2}
      data-active={isActive}
      style={{ ...template, top: index * ROW_PX }}
      onClick={() => row !== undefined && onOpen(row)}
    >
      {columns.map(({ title, cell }) => (
        // biome-ignore lint/a11y/useSemanticElements lint/a11y/useFocusableInteractive: as above
        <div key={title} role="gridcell" className="grid-cell">
          {row === undefined ? '…' : cell(row)}
        </div>
      ))}
    </div>
  );
}
