import { Type } from 'typebox';

/** Shapes that several routes share. */
export const Text = Type.String();
export const Names = Type.Array(Type.String());
export const Moment = Type.String({ format: 'date-time' });
export const NullableText = Type.Union([Type.String(), Type.Null()]);
export const Empty = Type.Object({}, { additionalProperties: false });

/** A document: its objects, or its text. */
export const Document = Type.Union([
  Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown())),
  Type.String(),
]);
export const DocumentBody = Type.Object(
  { data: Type.Unknown(), append: Type.Optional(Type.Boolean()), api_token: Type.Optional(Type.Unknown()) },
  { additionalProperties: false },
);

export const PageQuery = Type.Object(
  { after: Type.Optional(Type.String()), limit: Type.Optional(Type.String()) },
  { additionalProperties: false },
);
