import type { SourceSchema, ValueSchema, ValueType } from '@tidemark/protocol';
import type { Catalogue, CatalogueTable } from '../catalogue/catalogue.ts';
import { buildPlan } from '../mapping/build-plan.ts';
import type { Mapping } from '../mapping/mapping.ts';
import type { AttributePlan, TablePlan } from '../mapping/plan.ts';
import { findReferences } from '../mapping/plan-writing.ts';

/** Where the columns of a source are. `file` is the mapping as the user has named it. */
export interface MappedDatabase {
  readonly mapping: Mapping;
  readonly catalogue: Catalogue;
  readonly file: string;
}

/** A schema as the columns of a table give it. */
export interface ColumnsSchema {
  /** The table, as the mapping names it. */
  readonly table: string;
  readonly schema: SourceSchema;
}

/**
 * Returns what the columns say about the objects of a source; null: no mapped table becomes this source. Throws a `MappingError` if
 * the mapping does not fit the database.
 */
export function schemaOfColumns(source: string, { mapping, catalogue, file }: MappedDatabase): ColumnsSchema | null {
  const plan = buildPlan(mapping, catalogue, file).tables.find((table) => table.source === source);
  const table = catalogue.tables.find(({ label }) => label === plan?.label);
  const mapped = plan && mapping.tables[plan.label];
  if (plan === undefined || table === undefined || mapped === undefined) return null;
  const tables = new Map(catalogue.tables.map((one) => [one.label, one]));
  const { attributes } = plan;
  const references = findReferences({ mapping, tables }, { table, mapped, attributes });
  const properties = attributes.map((attribute) => {
    const value = valueSchema(catalogue.types, attribute.typeId, attribute.typeModifier);
    const target = Object.hasOwn(references, attribute.attribute) ? references[attribute.attribute] : undefined;
    const schema = target !== undefined && value.type === 'string' ? { ...value, reference: target } : value;
    return [attribute.attribute, isNullable(table, attribute) ? withNull(schema) : schema] as const;
  });
  const required = attributes.filter((attribute) => isAlwaysThere(plan, table, attribute)).map((one) => one.attribute);
  const schema = { properties: Object.fromEntries(properties), ...(required.length === 0 ? {} : { required }) };
  return { table: plan.label, schema };
}

function isNullable(table: CatalogueTable, { name }: AttributePlan): boolean {
  return table.columns.find((column) => column.name === name)?.isNullable ?? true;
}

/** Rows have all columns. What devices create has only what they must give. */
function isAlwaysThere({ writing }: TablePlan, table: CatalogueTable, attribute: AttributePlan): boolean {
  if (isNullable(table, attribute)) return false;
  const created = writing?.createColumns ?? null;
  const hasDefault = table.columns.find(({ name }) => name === attribute.name)?.hasDefault ?? false;
  return created === null || (created.includes(attribute.name) && !hasDefault);
}

/** What the values of built-in types become, by the number of the type. Others become texts. */
const SCALARS = new Map<number, (typeModifier: number) => ValueSchema>([
  [16, () => ({ type: 'boolean' })], // bool
  [21, () => ({ type: 'integer' })], // int2
  [23, () => ({ type: 'integer' })], // int4
  [26, () => ({ type: 'integer' })], // oid
  [114, () => ({})], // json
  [700, () => ({ type: 'number' })], // float4
  [701, () => ({ type: 'number' })], // float8
  [1042, boundedText], // bpchar
  [1043, boundedText], // varchar
  [1082, () => ({ type: 'string', format: 'date' })], // date
  [1184, () => ({ type: 'string', format: 'date-time' })], // timestamptz
  [2950, () => ({ type: 'string', format: 'uuid' })], // uuid
  [3802, () => ({})], // jsonb
]);

/** Postgres adds the length of its own header to the bound. */
const LENGTH_HEADER = 4;

function boundedText(typeModifier: number): ValueSchema {
  return { type: 'string', ...(typeModifier < LENGTH_HEADER ? {} : { maxLength: typeModifier - LENGTH_HEADER }) };
}

/** A chain of domains ends: only a broken catalogue has a loop. */
const DOMAIN_DEPTH_MAX = 32;

function valueSchema(types: Catalogue['types'], typeId: number, typeModifier: number, depth = 0): ValueSchema {
  const scalar = SCALARS.get(typeId);
  if (scalar !== undefined) return scalar(typeModifier);
  const type = types.get(typeId);
  if (type === undefined || type.kind === 'other' || depth > DOMAIN_DEPTH_MAX) return { type: 'string' };
  if (type.kind === 'enum') return type.labels.length === 0 ? { type: 'string' } : { enum: type.labels };
  if (type.kind === 'domain') return valueSchema(types, type.baseId, type.baseModifier, depth + 1);
  return { type: 'array', items: valueSchema(types, type.elementId, typeModifier, depth + 1) };
}

/** A schema that says nothing allows null already. */
function withNull(schema: ValueSchema): ValueSchema {
  if (schema.enum !== undefined) return { ...schema, enum: [...schema.enum, null] };
  return schema.type === undefined ? schema : { ...schema, type: [schema.type as ValueType, 'null'] };
}
