import type { KeyboardEvent, ReactNode } from 'react';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ReactNode;
  /** Numbers are aligned right. */
  readonly isNumber?: boolean;
  /** True: hidden where there is little room. */
  readonly isWide?: boolean;
}

interface DataTableProps<T> {
  readonly label: string;
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly columns: readonly Column<T>[];
}

/** A table. The arrow keys move between the names of its rows, and Enter opens one. */
export function DataTable<T>({ label, rows, keyOf, columns }: DataTableProps<T>) {
  return (
    <div className="card flush">
      <table className="table" aria-label={label} onKeyDown={moveFocus}>
        <thead>
          <tr>
            {columns.map(({ title, isNumber, isWide }) => (
              <th key={title} scope="col" className={classOf(isNumber, isWide)}>
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map(({ title, cell, isNumber, isWide }) => (
                <td key={title} className={classOf(isNumber, isWide)}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function classOf(isNumber = false, isWide = false): string {
  return [isNumber ? 'number' : '', isWide ? 'wide' : ''].join(' ').trim();
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
