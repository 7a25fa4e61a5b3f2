import { type Static, type TSchema, Type } from './typebox.ts';

/**
 * Builders for the leaves of schemas. Each takes the description and the example that the API description shows; neither
 * has any effect on validation.
 */

/** Objects refuse members that are not named. */
export const closed = { additionalProperties: false } as const;

const MOMENT = '2030-01-31T12:00:00.000Z';

export function text(description: string, example: string) {
  return Type.String({ description, examples: [example] });
}

export function nullableText(description: string, example: string | null) {
  return Type.Union([Type.String(), Type.Null()], { description, examples: [example] });
}

export function texts(description: string, example: readonly string[]) {
  return Type.Array(Type.String(), { description, examples: [example] });
}

/** A whole number from 0. */
export function count(description: string, example: number) {
  return Type.Integer({ minimum: 0, description, examples: [example] });
}

/** A whole number from 0, or null where it is not known. */
export function nullableCount(description: string, example: number) {
  return Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description, examples: [example] });
}

export function flag(description: string) {
  return Type.Boolean({ description });
}

/** A time in UTC. */
export function moment(description: string) {
  return Type.String({ format: 'date-time', description, examples: [MOMENT] });
}

export function nullableMoment(description: string) {
  return Type.Union([Type.String(), Type.Null()], { description, examples: [MOMENT] });
}

/** The attributes of one object: attribute → JSON value. */
export function attributes(description: string, example: Readonly<Record<string, unknown>>) {
  return Type.Record(Type.String(), Type.Unknown(), { description, examples: [example] });
}

/** A hash of hashes: object id → attribute → JSON value. */
export function objects(description: string) {
  return Type.Record(Type.String(), Type.Record(Type.String(), Type.Unknown()), { description, examples: [OBJECTS] });
}

const OBJECTS = { '1': { name: 'Pump', price: 9.5 }, '2': { name: 'Valve', price: 3 } };

/** Members with any name. `Type.Record` would not check members whose name contains a line break. */
export function membersOf<Member extends TSchema>(member: Member, description: string, example: unknown) {
  const schema = Type.Object({}, { additionalProperties: member, description, examples: [example] });
  return Type.Unsafe<Record<string, Static<Member>>>(schema);
}

export function nullableSeq(description: string) {
  return Type.Union([Type.Integer(), Type.Null()], { description, examples: [1040] });
}
