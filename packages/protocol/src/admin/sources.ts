import { attributes, closed, count, flag, moment, nullableText, text } from '../annotated.ts';
import type { JsonValue } from '../json/canonical-json.ts';
import { SourceAttributes } from '../schemas.ts';
import { type Static, Type } from '../typebox.ts';

export const SchemaMode = Type.Union([Type.Literal('off'), Type.Literal('report'), Type.Literal('enforce')], {
  title: 'SchemaMode',
  description:
    'What becomes of data that does not fit the schema: with `off` nothing is checked, with `report` it is written and counted, with `enforce` it is refused.',
});
export type SchemaMode = Static<typeof SchemaMode>;

export const RefreshDue = Type.Object(
  { refresh_at: moment('When the data is due to be queried again.') },
  { ...closed, title: 'RefreshDue', description: 'When a source is due to be refreshed.' },
);
export type RefreshDue = Static<typeof RefreshDue>;

/** What lists of sources tell of a schema. */
export const SchemaState = Type.Object(
  {
    mode: SchemaMode,
    version: Type.Integer({ minimum: 1, description: 'The present version of the schema.', examples: [2] }),
    oldest_version: Type.Integer({
      minimum: 1,
      description: 'Apps that were built with an older version get `app_too_old`.',
      examples: [1],
    }),
    converting: flag('True: some objects are still of the version before, and the server converts them.'),
  },
  { ...closed, title: 'SchemaState', description: 'The state of the schema of a source.' },
);
export type SchemaState = Static<typeof SchemaState>;

export const Source = Type.Object(
  {
    ...SourceAttributes.properties,
    schema: Type.Union([SchemaState, Type.Null()], {
      description: 'The state of its schema; null: it has none. `GET …/schema` has the schema itself.',
      examples: [null],
    }),
    configured: flag('True: the configuration of the server declares the source.'),
    created_at: moment('When the source was declared.'),
    updated_at: moment('When its attributes were last changed.'),
    updated_by: nullableText('The `user_name` of the last update; null: there was none.', 'anna'),
    counts: Type.Object(
      {
        objects: Type.Union([Type.Integer(), Type.Null()], {
          description: 'Objects of a shared source; null where the data belongs to users.',
          examples: [1_200],
        }),
      },
      { ...closed, description: 'How much data the source has.' },
    ),
  },
  { ...closed, title: 'Source', description: 'A source with its attributes.' },
);
export type Source = Static<typeof Source>;

export const DocumentReport = Type.Object(
  {
    doc: text('The name of the document.', 'settings'),
    type: Type.Union([Type.Literal('text'), Type.Literal('objects')], {
      description: 'What the document holds: a string, or a hash of hashes.',
    }),
    size: Type.Integer({ description: 'Characters of a text, or number of objects.', examples: [12] }),
  },
  { ...closed, title: 'DocumentReport', description: 'A document after it was written.' },
);
export type DocumentReport = Static<typeof DocumentReport>;

const ListedObject = Type.Object(
  {
    id: text('The id of the object.', '17'),
    seq: count('The seq of its last change.', 1042),
    created_seq: count('The seq at which it was created or last replaced as a whole.', 1001),
    changed: Type.Record(Type.String(), Type.Integer(), {
      description: 'Attributes that changed or were removed since then: attribute → seq.',
      examples: [{ price: 1042 }],
    }),
    attributes: attributes('Its attributes.', { name: 'Pump', price: 9.5 }),
  },
  { ...closed, title: 'ListedObject', description: 'An object, and when its attributes changed.' },
);

/** A page of the objects of a source. */
export const ObjectList = Type.Object(
  {
    size: count('How many objects there are.', 250),
    head: count('The newest seq.', 1042),
    objects: Type.Array(ListedObject, {
      description: 'The objects, in the order of their last change, or in that of `sort`.',
    }),
    next: Type.Union([Type.Integer(), Type.String(), Type.Null()], {
      description:
        'Send it as `after` for the next page: a seq, or a text if the list is sorted. Null: this is the last.',
      examples: [1042],
    }),
    matches: Type.Optional(
      Type.Union([Type.Integer(), Type.Null()], {
        description:
          'With `filter` or `sort`: how many objects match in all, where every object was read for this page; otherwise null. Objects that change meanwhile may count twice.',
        examples: [12],
      }),
    ),
    read: Type.Optional(count('With `filter` or `sort`: how many objects were read for this page.', 250)),
  },
  { ...closed, title: 'ObjectList', description: 'A page of the objects of a source.' },
);
export type ObjectList = Static<typeof ObjectList>;

/** What a value must fulfil, all of it; the words are those of the queries of devices. */
export interface ObjectOperators {
  readonly eq?: JsonValue;
  /** Also holds if the value is missing. */
  readonly ne?: JsonValue;
  readonly lt?: number | string;
  readonly lte?: number | string;
  readonly gt?: number | string;
  readonly gte?: number | string;
  readonly in?: readonly JsonValue[];
  /** The value is a text that begins with this one. */
  readonly prefix?: string;
  /** The value, as a text or as JSON text, contains this one in upper or lower case. */
  readonly contains?: string;
  /** True: the object has the attribute; false: it does not. */
  readonly exists?: boolean;
}

/**
 * Conditions by path, all of which must hold; a value alone means `eq`. `@id` is the id, `@seq` the seq of the last change, and
 * `*` stands for the id and all attributes. A dot leads into a value, and a backslash makes the next character part of the name.
 */
export type ObjectFilter = Readonly<Record<string, ObjectOperators | JsonValue>>;

/** A list means that all its filters must hold, for several conditions on one path. */
export type ObjectFilters = ObjectFilter | readonly ObjectFilter[];
