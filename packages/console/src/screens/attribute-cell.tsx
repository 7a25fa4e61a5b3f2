import { type JsonValue, parseJson } from '@tidemark/protocol';
import { type KeyboardEvent, useState } from 'react';
import type { ObjectRow } from '../api/object-pages.ts';

/** Called with the new value of an attribute, which is reviewed before it is saved. */
export type EditCell = (row: ObjectRow, name: string, value: JsonValue) => void;

interface AttributeCellProps {
  readonly row: ObjectRow;
  readonly name: string;
  /** Null: the cell cannot be edited. */
  readonly onEdit: EditCell | null;
}

/** The value of an attribute. A plain value can be edited in its place; Enter leads to the review of the difference. */
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
  const isPlain = typeof value !== 'object' || value === null;
  return (
    <span className="cell">
      <span className="name">{wordsOfValue(value)}</span>
      {onEdit !== null && isPlain && (
        <button
          type="button"
          className="cell-edit"
          aria-label={`Edit ${name} of ${row.id}`}
          title="Edit"
          tabIndex={-1}
          onClick={(event) => {
            event.stopPropagation();
            setText(wordsOfValue(value));
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

function wordsOfValue(value: unknown): string {
  if (value === undefined) return '';
  return (typeof value === 'string' ? value : JSON.stringify(value)).slice(0, 200);
}
