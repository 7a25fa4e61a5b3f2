import {
  isFileReference,
  type JsonValue,
  nameProblem,
  pointer,
  Refusal,
  SCHEMA_ATTRIBUTES_MAX,
  SCHEMA_DEPTH_MAX,
  VALUE_FORMATS,
  VALUE_TYPES,
  type ValueSchema,
  type ValueType,
} from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { admitValue } from '../admission/admit-value.ts';
import { admitFields } from '../entries/admit-fields.ts';

/** Where in a request a part of a schema stands, and how much of it may still follow. */
export interface Place {
  readonly path: readonly string[];
  /** The levels of schemas that may stand inside of this one. */
  readonly depth: number;
  /** The attributes and members that the whole schema may still have. */
  readonly left: { properties: number };
}

export function topPlace(path: readonly string[]): Place {
  return { path, depth: SCHEMA_DEPTH_MAX, left: { properties: SCHEMA_ATTRIBUTES_MAX } };
}

type Admit = (value: unknown, place: Place) => unknown;

/** Each keyword of a schema with the function that checks its value. */
const KEYWORDS: Readonly<Record<keyof ValueSchema, Admit>> = {
  title: admitText,
  description: admitText,
  deprecated: admitFlag,
  type: admitTypes,
  enum: admitEnum,
  const: admitConstant,
  format: (value, place) => oneOf(VALUE_FORMATS, value, place),
  reference: admitReference,
  minimum: admitNumber,
  maximum: admitNumber,
  minLength: admitCount,
  maxLength: admitCount,
  items: (value, place) => admitValueSchema(value, { ...place, depth: place.depth - 1 }),
  minItems: admitCount,
  maxItems: admitCount,
  properties: (value, place) => admitProperties(value, { ...place, depth: place.depth - 1 }, 'member'),
  required: admitRequired,
  additionalProperties: admitFlag,
};

/** The types of which a value must be for a keyword to mean anything. `format` depends on the format. */
const TYPES_OF: Partial<Record<string, readonly ValueType[]>> = {
  reference: ['string'],
  minLength: ['string'],
  maxLength: ['string'],
  minimum: ['number', 'integer'],
  maximum: ['number', 'integer'],
  items: ['array'],
  minItems: ['array'],
  maxItems: ['array'],
  properties: ['object'],
  required: ['object'],
  additionalProperties: ['object'],
};

const PAIRS = [
  ['minimum', 'maximum'],
  ['minLength', 'maxLength'],
  ['minItems', 'maxItems'],
] as const;

/** Checks the schema of a value, and all that stands inside of it. */
function admitValueSchema(value: unknown, place: Place): ValueSchema {
  if (place.depth < 0) throw tooMuch(`schemas stand more than ${SCHEMA_DEPTH_MAX} levels inside of each other`, place);
  const schema = admitKeywords<ValueSchema>(value, KEYWORDS, place);
  for (const name of Object.keys(schema)) requireTypeOf(name, schema, place);
  requireOrder(schema, place);
  requireValuesOfType(schema, place);
  requireDeclared(schema, place);
  return schema;
}

/** Checks an object of keywords. Every other keyword is refused by its name. */
export function admitKeywords<T>(value: unknown, keywords: Readonly<Record<string, Admit>>, place: Place): T {
  const fields = admitFields(value, place.path);
  const admitted = fields.map(([name, given]) => {
    const here = inside(place, name);
    const admit = Object.hasOwn(keywords, name) ? keywords[name] : undefined;
    if (admit === undefined) {
      throw notAllowed(`is not a keyword of schemas of sources; there are ${Object.keys(keywords).join(', ')}`, here);
    }
    return [name, admit(given, here)] as const;
  });
  return Object.fromEntries(admitted) as T;
}

/** Checks the schemas of attributes, or of the members of a value. */
export function admitProperties(
  value: unknown,
  place: Place,
  kind: 'attribute' | 'member',
): Readonly<Record<string, ValueSchema>> {
  const fields = admitFields(value, place.path);
  place.left.properties -= fields.length;
  if (place.left.properties < 0)
    throw tooMuch(`it has more than ${SCHEMA_ATTRIBUTES_MAX} attributes and members`, place);
  const admitted = fields.map(([name, schema]) => {
    const here = inside(place, name);
    const problem = kind === 'attribute' ? nameProblem('attribute', name) : null;
    if (problem !== null) throw notAllowed(`is a name that no attribute can have: it ${problem}`, here);
    return [name, admitValueSchema(schema, here)] as const;
  });
  return Object.fromEntries(admitted);
}

export function admitRequired(value: unknown, place: Place): readonly string[] {
  if (!Array.isArray(value)) throw notAllowed('must be a list of names', place);
  const names = value.map((name, index) => admitText(name, inside(place, String(index))));
  const twice = firstTwice(names);
  if (twice !== undefined) throw notAllowed(`names ${quoted(twice)} twice`, place);
  return names;
}

/** Refuses names in `required` that `properties` does not have, which are mostly typing errors. */
export function requireDeclared({ properties = {}, required = [] }: Partial<ValueSchema>, place: Place): void {
  const unknown = required.find((name) => !Object.hasOwn(properties, name));
  if (unknown === undefined) return;
  throw notAllowed(`names ${quoted(unknown)}, which is not in properties`, inside(place, 'required'));
}

/** The types that a value may have. */
export function typesOf({ type, format }: ValueSchema): readonly ValueType[] {
  if (type === undefined) return format === 'file' ? ['object'] : VALUE_TYPES;
  return typeof type === 'string' ? [type] : type;
}

/** The type of a value, the narrowest that fits. */
export function typeOf(value: JsonValue): ValueType {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value as 'string' | 'boolean' | 'object';
}

/** Whether a value is of one of the types. */
function isOfType(value: JsonValue, types: readonly ValueType[]): boolean {
  return types.some((type) => {
    if (type === 'null') return value === null;
    if (type === 'array') return Array.isArray(value);
    if (type === 'integer') return Number.isInteger(value);
    return value !== null && !Array.isArray(value) && typeof value === type;
  });
}

export function admitText(value: unknown, place: Place): string {
  if (typeof value === 'string' && value.isWellFormed()) return value;
  throw notAllowed('must be a text', place);
}

export function admitFlag(value: unknown, place: Place): boolean {
  if (typeof value === 'boolean') return value;
  throw notAllowed('must be true or false', place);
}

export function notAllowed(detail: string, { path }: Place): Refusal {
  const at = pointer(...path);
  return new Refusal('invalid_value', `${at} ${detail}`, [{ pointer: at, detail }]);
}

function tooMuch(detail: string, { path }: Place): Refusal {
  return new Refusal('limit_exceeded', `the schema is too large: ${detail}`, [{ pointer: pointer(...path), detail }]);
}

function inside(place: Place, name: string): Place {
  return { ...place, path: [...place.path, name] };
}

function admitTypes(value: unknown, place: Place): ValueType | readonly ValueType[] {
  if (!Array.isArray(value)) return oneOf(VALUE_TYPES, value, place);
  if (value.length === 0) throw notAllowed('must name at least one type', place);
  const types = value.map((type, index) => oneOf(VALUE_TYPES, type, inside(place, String(index))));
  if (new Set(types).size < types.length) throw notAllowed('names a type twice', place);
  return types;
}

function admitEnum(value: unknown, place: Place): readonly JsonValue[] {
  if (!Array.isArray(value) || value.length === 0) throw notAllowed('must be a list of at least one value', place);
  const texts = value.map((item, index) => constantText(item, inside(place, String(index))));
  const twice = firstTwice(texts);
  if (twice !== undefined) throw notAllowed(`has ${twice} twice`, place);
  return value as readonly JsonValue[];
}

function admitConstant(value: unknown, place: Place): JsonValue {
  constantText(value, place);
  return value as JsonValue;
}

function constantText(value: unknown, place: Place): string {
  return admitValue(value, SCHEMA_DEPTH_MAX, () => pointer(...place.path));
}

/** The source need not exist yet, so that sources can be declared in any order. */
function admitReference(value: unknown, place: Place): string {
  const name = admitText(value, place);
  const problem = nameProblem('source', name);
  if (problem !== null) throw notAllowed(problem, place);
  return name;
}

function admitNumber(value: unknown, place: Place): number {
  if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER) return value;
  throw notAllowed('must be a number', place);
}

function admitCount(value: unknown, place: Place): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw notAllowed('must be a whole number from 0', place);
}

function firstTwice(texts: readonly string[]): string | undefined {
  const seen = new Set<string>();
  return texts.find((text) => {
    if (seen.has(text)) return true;
    seen.add(text);
    return false;
  });
}

function oneOf<T extends string>(allowed: readonly T[], value: unknown, place: Place): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw notAllowed(`must be one of ${allowed.join(', ')}`, place);
  return found;
}

function requireTypeOf(keyword: string, schema: ValueSchema, place: Place): void {
  const needed = keyword === 'format' ? typesOfFormat(schema) : TYPES_OF[keyword];
  if (needed === undefined || (schema.type === undefined && schema.format === 'file')) return;
  const types = schema.type === undefined ? [] : typesOf(schema);
  if (types.some((type) => needed.includes(type))) return;
  throw notAllowed(`needs a "type" that is ${needed.join(' or ')}`, inside(place, keyword));
}

function typesOfFormat({ format }: ValueSchema): readonly ValueType[] {
  return format === 'file' ? ['object'] : ['string'];
}

function requireOrder(schema: ValueSchema, place: Place): void {
  for (const [least, most] of PAIRS) {
    const [low, high] = [schema[least], schema[most]];
    if (low !== undefined && high !== undefined && low > high) {
      throw notAllowed(`is greater than ${most}`, inside(place, least));
    }
  }
}

function requireValuesOfType(schema: ValueSchema, place: Place): void {
  const types = typesOf(schema);
  const isWrong = (value: JsonValue) =>
    !isOfType(value, types) || (schema.format === 'file' && value !== null && !isFileReference(value));
  const given = { enum: schema.enum ?? [], const: schema.const === undefined ? [] : [schema.const] };
  for (const [keyword, values] of Object.entries(given)) {
    const wrong = values.find(isWrong);
    if (wrong === undefined) continue;
    throw notAllowed(`has ${quoted(JSON.stringify(wrong))}, which is not of the type`, inside(place, keyword));
  }
}
