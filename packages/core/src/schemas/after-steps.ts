import { type JsonValue, type SourceSchema, type Step, sameJson, type ValueSchema } from '@tidemark/protocol';
import { typesOf } from './keywords.ts';

/** The schemas of attributes while steps are applied to them. */
interface Attributes {
  readonly schemas: Map<string, ValueSchema>;
  readonly required: Set<string>;
}

export type StepOf<K extends Step['step']> = Extract<Step, { readonly step: K }>;

const APPLY: { readonly [K in Step['step']]: (attributes: Attributes, step: StepOf<K>) => void } = {
  rename: (attributes, { attribute, to }) => put(attributes, to, take(attributes, attribute)),
  add: (attributes, { attribute, value }) => put(attributes, attribute, { schema: { const: value }, isRequired: true }),
  remove: (attributes, { attribute }) => void take(attributes, attribute),
  map: ({ schemas }, step) => change(schemas, step.attribute, (schema) => mapped(schema, step)),
  convert: ({ schemas }, { attribute, to }) => change(schemas, attribute, (schema) => CONVERTED[to](schema)),
  nest: nest,
  unnest: unnest,
  split(attributes, { attribute, into }) {
    const taken = take(attributes, attribute);
    // A text without separators has a first part and no others.
    if (taken === null) return;
    for (const [index, name] of into.entries()) {
      const schema = index === 0 ? textOr([taken.schema]) : TEXT;
      put(attributes, name, { schema, isRequired: taken.isRequired && index === 0 });
    }
  },
  join(attributes, { attributes: names, into }) {
    const taken = names.map((name) => take(attributes, name)).filter((one) => one !== null);
    if (taken.length === 0) return;
    // A value that is no text can only be joined with nothing.
    const alone = taken.filter((one) => taken.every((other) => other === one || !other.isRequired));
    const schema = textOr(alone.map((one) => one.schema));
    put(attributes, into, { schema, isRequired: taken.some(({ isRequired }) => isRequired) });
  },
};

/** Returns the schema that objects of the given one fit after they were converted by the steps. */
export function schemaAfter(schema: SourceSchema, steps: readonly Step[]): SourceSchema {
  const attributes = { schemas: new Map(Object.entries(schema.properties)), required: new Set(schema.required) };
  for (const step of steps) applyStep(attributes, step);
  return { ...schema, properties: Object.fromEntries(attributes.schemas), required: [...attributes.required] };
}

function applyStep(attributes: Attributes, step: Step): void {
  (APPLY[step.step] as (attributes: Attributes, step: Step) => void)(attributes, step);
}

const TEXT: ValueSchema = { type: 'string' };

/** A text, or what the values may be that are none: they stay as they are. */
function textOr(schemas: readonly ValueSchema[]): ValueSchema {
  const types = schemas.flatMap((schema) => (schema.type === undefined ? [] : typesOf(schema)));
  const nulls = schemas.some(nullable) ? (['null'] as const) : [];
  const all = [...new Set([...types, ...nulls, 'string' as const])];
  return all.length === 1 ? TEXT : { type: all };
}

interface Taken {
  readonly schema: ValueSchema;
  readonly isRequired: boolean;
}

function take({ schemas, required }: Attributes, name: string): Taken | null {
  const schema = schemas.get(name);
  if (schema === undefined) return null;
  schemas.delete(name);
  return { schema, isRequired: required.delete(name) };
}

/** An attribute that the schema does not have stays one that it does not have. */
function put({ schemas, required }: Attributes, name: string, taken: Taken | null): void {
  if (taken === null) return;
  schemas.set(name, taken.schema);
  if (taken.isRequired) required.add(name);
}

function change(schemas: Map<string, ValueSchema>, name: string, changed: (schema: ValueSchema) => ValueSchema): void {
  const schema = schemas.get(name);
  if (schema !== undefined) schemas.set(name, changed(schema));
}

/** Values that the map does not have stay as they are, unless the step names another for them. */
function mapped(schema: ValueSchema, { values, otherwise }: StepOf<'map'>): ValueSchema {
  const other = typeof otherwise === 'object' ? otherwise.value : undefined;
  const now = (value: JsonValue) => {
    const pair = values.find(([old]) => sameJson(old, value));
    return pair === undefined ? (other === undefined ? value : other) : pair[1];
  };
  const old = valuesOf(schema);
  if (old !== undefined) return { enum: distinct(old.map(now)) };
  if (other !== undefined) return { enum: distinct([...values.map(([, value]) => value), other]) };
  return {};
}

/** The values that a schema allows, if it names them. */
export function valuesOf(schema: ValueSchema): readonly JsonValue[] | undefined {
  return schema.enum ?? (schema.const === undefined ? undefined : [schema.const]);
}

function distinct(values: readonly JsonValue[]): readonly JsonValue[] {
  return values.filter((value, index) => values.findIndex((one) => sameJson(one, value)) === index);
}

const CONVERTED: Readonly<Record<StepOf<'convert'>['to'], (schema: ValueSchema) => ValueSchema>> = {
  text: (schema) => withNull(schema, { type: 'string' }),
  number: (schema) => withNull(schema, { type: 'number' }),
  list: (schema) => withNull(schema, { type: 'array', items: withoutNull(schema) }),
  one: (schema) => (schema.items === undefined ? {} : nullable(schema) ? withNull(schema, schema.items) : schema.items),
};

/** `null` stays as it is in every conversion. */
function withNull(old: ValueSchema, now: ValueSchema): ValueSchema {
  return nullable(old) && now.type !== undefined
    ? { ...now, type: [...new Set([...typesOf(now), 'null' as const])] }
    : now;
}

function withoutNull(schema: ValueSchema): ValueSchema {
  if (schema.type === undefined) return schema;
  const types = typesOf(schema).filter((type) => type !== 'null');
  return types.length === 0 ? schema : { ...schema, type: types.length === 1 ? (types[0] ?? types) : types };
}

function nullable(schema: ValueSchema): boolean {
  const values = valuesOf(schema);
  return values === undefined ? schema.type !== undefined && typesOf(schema).includes('null') : values.includes(null);
}

function nest(attributes: Attributes, { into, members }: StepOf<'nest'>): void {
  const before = attributes.schemas.get(into);
  const properties = new Map(Object.entries(before?.properties ?? {}));
  const required: string[] = [...(before?.required ?? [])];
  let isRequired = attributes.required.has(into);
  for (const [attribute, member] of Object.entries(members)) {
    const taken = take(attributes, attribute);
    if (taken === null) continue;
    properties.set(member, taken.schema);
    isRequired ||= taken.isRequired;
    if (taken.isRequired) required.push(member);
  }
  if (properties.size === 0) return;
  const schema = {
    type: 'object',
    properties: Object.fromEntries(properties),
    required,
    additionalProperties: false,
  } as const;
  put(attributes, into, { schema, isRequired });
}

function unnest(attributes: Attributes, { attribute, members }: StepOf<'unnest'>): void {
  const taken = take(attributes, attribute);
  if (taken === null) return;
  const { properties = {}, required = [] } = taken.schema;
  for (const [member, name] of Object.entries(members)) {
    const schema = Object.hasOwn(properties, member) ? (properties[member] ?? {}) : {};
    put(attributes, name, { schema, isRequired: taken.isRequired && required.includes(member) });
  }
}
