import { Link } from '@tanstack/react-router';
import { type KeyboardEvent, useRef, useState } from 'react';
import type { ObjectRow } from '../api/object-pages.ts';
import { filesOf } from '../components/file-facts.ts';
import { NameLink } from '../components/name-link.tsx';
import { type CellValue, editedText, isEditedInPlace, kindOf, parseCell, shownText, valueIn } from './cell-value.ts';

interface AttributeCellProps {
  readonly row: ObjectRow;
  readonly name: string;
  /** Where the object is that the value refers to; null: it is no reference. */
  readonly referenceTo: ((id: string) => object) | null;
  /** Null: the cell cannot be edited. */
  readonly edit: CellEdit | null;
}

export interface CellEdit {
  readonly isOpen: boolean;
  readonly onOpen: () => void;
  /** Called with the value to save; nothing differs where it is the one before. */
  readonly onClose: (value: CellValue) => void;
  /** Told why what was typed is not saved. */
  readonly onProblem: (problem: string) => void;
}

/** The value of an attribute, shown by its kind. A short value is edited in its place: Enter saves, Escape does not. */
export function AttributeCell({ row, name, referenceTo, edit }: AttributeCellProps) {
  const value = valueIn(row, name);
  const isEditable = edit !== null && isEditedInPlace(value);
  if (isEditable && edit.isOpen) return <CellField name={`${name} of ${row.id}`} value={value} edit={edit} />;
  return (
    <span className="cell">
      <CellText value={value} referenceTo={referenceTo} />
      {isEditable && (
        <button
          type="button"
          className="cell-edit"
          aria-label={`Edit ${name} of ${row.id}`}
          title="Edit"
          tabIndex={-1}
          onClick={edit.onOpen}
        >
          ✎
        </button>
      )}
    </span>
  );
}

function CellText({ value, referenceTo }: Pick<AttributeCellProps, 'referenceTo'> & { readonly value: CellValue }) {
  const kind = kindOf(value);
  const text = shownText(value);
  if (referenceTo !== null && (typeof value === 'string' || typeof value === 'number')) {
    return (
      <Link
        className="name"
        tabIndex={-1}
        title={`Open ${text}`}
        {...(referenceTo(String(value)) as { readonly to: string })}
      >
        {text}
      </Link>
    );
  }
  const [file, ...others] = filesOf(value) ?? [];
  if (file !== undefined) {
    // Several files are opened from the object.
    return others.length === 0 ? (
      <NameLink kind="file" name={file.sha256} text={text} hint={`Open ${text}`} />
    ) : (
      <span className="name" title={text}>
        {text}
      </span>
    );
  }
  if (kind === 'date')
    return (
      <time className="name" dateTime={editedText(value)} title={editedText(value)}>
        {text}
      </time>
    );
  return (
    <span className="name" data-kind={kind} title={text}>
      {text}
    </span>
  );
}

interface CellFieldProps {
  readonly name: string;
  readonly value: CellValue;
  readonly edit: CellEdit;
}

function CellField({ name, value, edit }: CellFieldProps) {
  const [text, setText] = useState(editedText(value));
  const isClosed = useRef(false);
  const parsed = parseCell(value, text);
  const problem = 'problem' in parsed ? parsed.problem : null;
  const close = (next: CellValue) => {
    if (isClosed.current) return;
    isClosed.current = true;
    edit.onClose(next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== 'Escape') return;
    event.preventDefault();
    if (event.key === 'Enter' && problem !== null) return edit.onProblem(problem);
    const grid = event.currentTarget.closest<HTMLElement>('[role="grid"]');
    close(event.key === 'Enter' && 'value' in parsed ? parsed.value : value);
    // The arrow keys move on from here.
    grid?.focus();
  };
  const field = {
    className: 'cell-input',
    'aria-label': name,
    'aria-invalid': problem !== null,
    title: problem ?? undefined,
    value: text,
    onKeyDown,
    // Whoever clicks elsewhere keeps what was typed, and can undo it.
    onBlur: () => {
      if (problem !== null && !isClosed.current) edit.onProblem(problem);
      close('value' in parsed ? parsed.value : value);
    },
    ref: focusField,
  };
  if (typeof value === 'boolean') {
    return (
      <select {...field} onChange={(event) => setText(event.currentTarget.value)}>
        <option>true</option>
        <option>false</option>
      </select>
    );
  }
  const isNumber = typeof value === 'number';
  return (
    <input
      {...field}
      inputMode={isNumber ? 'decimal' : 'text'}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

/** The person has just asked to edit this cell. */
function focusField(field: HTMLInputElement | HTMLSelectElement | null): void {
  if (field === null || field.contains(document.activeElement)) return;
  field.focus();
  if (field instanceof HTMLInputElement) field.select();
}
