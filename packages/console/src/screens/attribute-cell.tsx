import { type JsonValue, parseJson } from '@tidemark/protocol';
import { type KeyboardEvent, useState } from 'react';
import type { ObjectRow } from '../api/object-pages.ts';

/** Longer values are cut off in the table. */
const SHOWN_UNITS = 200;

/** Called with the new value of an attribute, which is reviewed before it is saved. */
export type EditCell = (row: ObjectRow, name: string, value: JsonValue) => void;

interface AttributeCellProps {
  readonly row: ObjectRow;
  readonly name: string;
  /** Null: the cell cannot be edited. */
  readonly onEdit: EditCell | null;
}

/** The value of an attribute. A short value can be edited in its place; Enter leads to the review of the difference. */
export function AttributeCell({ row, name, onEdit }: AttributeCellProps) {
  const [text, setText] = useState<string | null>(null);
  const value = (Object.hasOwn(row.attributes, name) ? row.attributes[name] : undefined) as JsonValue | undefined;
  if (text !== null && onEdit !== null) {
    const onKeyDown = (event: KeyboardEvent) => {
      // The keys belong to the field, not to the grid around it.
      event.stopPropagation();
      if (event.key === 'Escape') setText(null);
      if (event.key !== 'Enter') return;
      setText(null);
      onEdit(row, name, typedLike(value, text));
    };
    return (
      <input
        className="cell-input"
        aria-label={`${name} of ${row.id}`}
        value={text}
        // biome-ignore lint/a11y/noAutofocus: the person has just asked to edit this cell
        autoFocus
        onChange={(event) => setText(event.currentTarget.value)}
        onKeyDown={onKeyDown}
        onClick={(event) => event.stopPropagation()}
        onBlur={() => setText(null)}
      />
    );
  }
  const shown = value === undefined ? '' : textOf(value);
  return (
    <span className="cell">
      <span className="name" title={shown.slice(0, SHOWN_UNITS)}>
        {shown.slice(0, SHOWN_UNITS)}
      </span>
      {onEdit !== null && isEditable(value) && (
        <button
          type="button"
          className="cell-edit"
          aria-label={`Edit ${name} of ${row.id}`}
          title="Edit"
          tabIndex={-1}
          onClick={(event) => {
            event.stopPropagation();
            setText(shown);
          }}
        >
          ✎
        </button>
      )}
    </span>
  );
}

/** A text stays a text; other values are read as JSON where that is possible. */
function typedLike(old: JsonValue | undefined, text: string): JsonValue {
  if (typeof old === 'string') return text;
  try {
    return parseJson(text) as JsonValue;
  } catch {
    return text;
  }
}

/** A field of one line would cut long texts off and join their lines; those are edited as JSON. */
function isEditable(value: JsonValue | undefined): boolean {
  if (typeof value === 'string') return value.length <= SHOWN_UNITS && !/[\r\n]/.test(value);
  return typeof value !== 'object' || value === null;
}

function textOf(value: JsonValue): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
