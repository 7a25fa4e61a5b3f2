import { type KeyboardEvent, type ReactNode, useEffect, useRef, useState } from 'react';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** Numbers are aligned right. */
  readonly isNumber?: boolean;
}

interface DataTableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly columns: readonly Column<T>[];
}

/**
 * A table. The arrow keys move between the names of its rows, and Enter opens one. At phone width each row is a block
 * with a line for each column.
 */
export function DataTable<T>({ label, rows, keyOf, columns }: DataTableProps<T>) {
  const frame = useRef<HTMLDivElement>(null);
  const isScrolled = useIsWider(frame);
  // Only what scrolls is a stop of the Tab key.
  const scrolled = isScrolled
    ? ({ role: 'region', tabIndex: 0, 'aria-label': `${label}, scrolls sideways` } as const)
    : {};
  return (
    <div className="card flush" ref={frame} {...scrolled}>
      <table className="table" aria-label={label} onKeyDown={moveFocus}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber }) => (
              <th key={title} scope="col" className={isNumber === true ? 'number' : undefined}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isNumber }) => (
                <td key={title} data-title={title} className={isNumber === true ? 'number' : undefined}>
                  <div>{cell(row)}</div>
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Whether the content of the frame is wider than the frame. */
function useIsWider(frame: { readonly current: HTMLElement | null }): boolean {
  const [isWider, setWider] = useState(false);
  useEffect(() => {
    const element = frame.current;
    if (element === null) return;
    const observer = new ResizeObserver(() => setWider(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    for (const child of element.children) observer.observe(child);
    return () => observer.disconnect();
  }, [frame]);
  return isWider;
}

function moveFocus(event: KeyboardEvent<HTMLTableElement>): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const links = [
    ...event.currentTarget.querySelectorAll<HTMLElement>(
      'tbody tr > td:first-child :is(a, button).name, tbody button.name',
    ),
  ];
  const next = links[links.indexOf(document.activeElement as HTMLElement) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
}
