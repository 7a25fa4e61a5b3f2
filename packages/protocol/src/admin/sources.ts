import { attributes, closed, count, flag, moment, nullableSeq, nullableText, text } from '../annotated.ts';
import { SourceAttributes } from '../schemas.ts';
import { type Static, Type } from '../typebox.ts';

export const RefreshDue = Type.Object(
  { refresh_at: moment('When the data is due to be queried again.') },
  { ...closed, title: 'RefreshDue', description: 'When a source is due to be refreshed.' },
);
export type RefreshDue = Static<typeof RefreshDue>;

export const Source = Type.Object(
  {
    ...SourceAttributes.properties,
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
    objects: Type.Array(ListedObject, { description: 'The objects, in the order of their last change.' }),
    next: nullableSeq('Send it as `after` for the next page; null: this is the last.'),
  },
  { ...closed, title: 'ObjectList', description: 'A page of the objects of a source.' },
);
export type ObjectList = Static<typeof ObjectList>;
