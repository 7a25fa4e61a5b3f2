import { LIST_MAX } from '@tidemark/protocol';
import { closed, flag, objects, text, texts } from '@tidemark/protocol/annotated';
import { type TProperties, Type } from '@tidemark/protocol/typebox';
import { documentedAs } from '../http/documented-schema.ts';

/** Parameters and schemas that several routes share. */
export const UserId = text('The login of the user.', 'anna');
export const SourceId = text('The name of the source.', 'Product');
export const GroupId = text('The name of the group.', 'north');
export const ClientId = text('The id of the device.', 'c3f1a2b4');

export function names(description: string, example: readonly string[]) {
  return texts(description, example);
}

export const Empty = Type.Object({}, { ...closed, title: 'Empty', description: 'An empty object.' });

/** Accepted because the examples of the specification contain it; only the header counts. */
export const IgnoredToken = Type.Optional(
  Type.Unknown(documentedAs(text('Accepted and ignored: send the token in a header.', 'ignored'))),
);

/** A document: its objects, or its text. */
export const Document = Type.Union([objects('A hash of hashes: object id → attributes.'), Type.String()], {
  title: 'Document',
  description: 'The content of a document: a hash of hashes, or a string.',
});

export const DocumentBody = Type.Object(
  {
    data: Type.Unknown(documentedAs(Document)),
    append: Type.Optional(
      flag('True: adds to the document; a string is concatenated, objects are merged. Otherwise it is replaced.'),
    ),
    api_token: IgnoredToken,
  },
  { ...closed, title: 'DocumentWrite', description: 'New content of a document.' },
);

const Limit = Type.Integer({ minimum: 1, maximum: LIST_MAX, description: 'How many at most.', examples: [100] });

/** The query of a paged list; `after` is the key of the last item of the previous page. */
export function pageQuery<Others extends TProperties>(after: string, example: string, others: Others) {
  return Type.Object(
    {
      after: Type.Optional(text(`Where the previous page ended: ${after}.`, example)),
      limit: Type.Optional(Type.String(documentedAs(Limit))),
      ...others,
    },
    closed,
  );
}

/** A member of a query that is true or false. */
export function queryFlag(description: string) {
  return Type.Optional(Type.Enum(['true', 'false'], { description, examples: ['true'] }));
}

/** A member of a query that is a whole number; the handler reads it with `wholeNumber`. */
export function queryNumber(description: string, example: number) {
  return Type.Optional(Type.String(documentedAs(Type.Integer({ minimum: 0, description, examples: [example] }))));
}
