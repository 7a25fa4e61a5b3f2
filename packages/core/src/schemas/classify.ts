import {
  type JsonValue,
  namesOf,
  type SourceSchema,
  type Step,
  sameJson,
  type ValueSchema,
  type ValueType,
} from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { type StepOf, schemaAfter, valuesOf } from './after-steps.ts';
import { CompiledSchema } from './compiled-schema.ts';
import { typeOf, typesOf } from './keywords.ts';
import { valuesText } from './sentences.ts';

/**
 * What a new schema means for apps that were built with the old one. `equal`: nothing has changed. `additive`: they go on as they
 * are. `translatable`: the steps translate for them. `breaking`: they write what is not allowed any more, or miss what they read.
 */
export type ChangeKind = 'equal' | 'additive' | 'translatable' | 'breaking';

export interface SchemaChange {
  readonly kind: ChangeKind;
  /** Why it is breaking, one sentence for each attribute; empty if it is not. */
  readonly reasons: readonly string[];
}

/** Compares the schema of a source with the one that should follow it. */
export function classify(old: SourceSchema, now: SourceSchema, steps: readonly Step[]): SchemaChange {
  if (steps.length === 0 && sameSchema(old, now)) return { kind: 'equal', reasons: [] };
  const reasons = [...problemsOf(steps, old), ...narrowings(schemaAfter(old, steps), now)];
  if (reasons.length > 0) return { kind: 'breaking', reasons: [...notFound(steps, old), ...reasons] };
  return { kind: steps.length === 0 ? 'additive' : 'translatable', reasons };
}

export function sameSchema(old: SourceSchema, now: SourceSchema): boolean {
  return sameJson(old as unknown as JsonValue, now as unknown as JsonValue);
}

/**
 * Names what the steps are about and the schema before them does not name. That is allowed, because old apps may have written such
 * attributes, but in a breaking change it is mostly a typing error, and the cause of the reasons that follow.
 */
function notFound(steps: readonly Step[], old: SourceSchema): readonly string[] {
  return steps.flatMap((step, at) => {
    const { properties } = schemaAfter(old, steps.slice(0, at));
    const isChange = step.step === 'map' || step.step === 'convert';
    const names = isChange ? [step.attribute] : namesOf(step).old;
    return names
      .filter((name) => !Object.hasOwn(properties, name))
      .map(
        (name) =>
          `a step ${isChange ? 'changes' : 'takes'} ${quoted(name)}, which the schema before it does not name: see how it is written`,
      );
  });
}

/** Says what the steps would take from older apps that their schema allows. */
function problemsOf(steps: readonly Step[], old: SourceSchema): readonly string[] {
  return steps.flatMap((step, at) => {
    const brought = namesOf(step).now.filter((name) => Object.hasOwn(old.properties, name));
    // A step before may have renamed what this one changes.
    const { properties } = schemaAfter(old, steps.slice(0, at));
    return [
      ...brought.map((name) => `${quoted(name)} is brought by a step, and older apps have it: choose another name`),
      ...(step.step === 'map' ? problemsOfMap(step, ownOf(properties, step.attribute)) : []),
      ...(step.step === 'convert' ? problemsOfConvert(step, ownOf(properties, step.attribute)) : []),
    ];
  });
}

type To = StepOf<'convert'>['to'];

/** What can be converted, and what it becomes. A value that is what it becomes already could not be told from a converted one. */
const CONVERTIBLE: Readonly<Record<To, readonly ValueType[]>> = {
  text: ['number', 'integer', 'null'],
  number: ['string', 'null'],
  list: ['string', 'number', 'integer', 'boolean', 'object', 'null'],
  one: ['array', 'null'],
};
const BECOMES: Readonly<Record<To, string>> = { text: 'a text', number: 'a number', list: 'a list', one: 'one value' };

/** Older apps cannot write values that a conversion does not know, and stored ones would stay as they are. */
function problemsOfConvert(
  { attribute, to, otherwise }: StepOf<'convert'>,
  schema: ValueSchema = {},
): readonly string[] {
  // A list that becomes a list is one whatever the rule says.
  const hasRule = otherwise !== undefined && to !== 'list';
  const lost = hasRule ? [] : namedTypes(schema).filter((type) => !CONVERTIBLE[to].includes(type));
  const inItems = to === 'one' && namedTypes(schema.items ?? {}).includes('array') ? ['array of array'] : [];
  const all = [...lost, ...inItems];
  return all.length === 0
    ? []
    : [`${quoted(attribute)} may be ${all.join(' or ')}, which cannot become ${BECOMES[to]}`];
}

/** The types that a schema names, or that the values have which it names; none if it says nothing. */
function namedTypes(schema: ValueSchema): readonly ValueType[] {
  const values = valuesOf(schema);
  if (values !== undefined) return [...new Set(values.map(typeOf))];
  return schema.type === undefined && schema.format !== 'file' ? [] : typesOf(schema);
}

/** Older apps cannot write values that a map neither names nor has a rule for. */
function problemsOfMap({ attribute, values, otherwise }: StepOf<'map'>, schema: ValueSchema = {}): readonly string[] {
  const lost = (valuesOf(schema) ?? []).filter((value) => !values.some(([old]) => sameJson(old, value)));
  if (lost.length === 0 || otherwise !== undefined) return [];
  return [
    `${quoted(attribute)} cannot be ${valuesText(lost, ' or ')} any more, because the map does not name ${lost.length === 1 ? 'it' : 'them'}`,
  ];
}

/** Says for each attribute why values of the old schema do not fit the new one. */
function narrowings(old: SourceSchema, now: SourceSchema): readonly string[] {
  const reasons: string[] = [];
  for (const [name, schema] of Object.entries(old.properties)) {
    const next = ownOf(now.properties, name);
    if (next === undefined)
      reasons.push(`${quoted(name)} is missing: keep it as deprecated, or name a step that renames or removes it`);
    else reasons.push(...narrowingsOf(schema, next).map((reason) => `${quoted(name)} ${reason}`));
  }
  for (const name of now.required ?? []) {
    if (old.required?.includes(name) === true) continue;
    const detail = Object.hasOwn(old.properties, name)
      ? 'is required now'
      : 'is new and required: name a step that adds it';
    reasons.push(`${quoted(name)} ${detail}`);
  }
  if (old.additionalProperties !== false && now.additionalProperties === false) {
    reasons.push('attributes that the schema does not name are refused now');
  }
  return reasons;
}

function ownOf(properties: Readonly<Record<string, ValueSchema>>, name: string): ValueSchema | undefined {
  return Object.hasOwn(properties, name) ? properties[name] : undefined;
}

/** Says why a value of the old schema may not fit the new one. */
function narrowingsOf(old: ValueSchema, now: ValueSchema): readonly string[] {
  const values = valuesOf(old);
  if (values !== undefined) return narrowingsOfValues(values, now);
  if (now.enum !== undefined || now.const !== undefined) return ['allows only some values now'];
  const lost = lostTypes(old, now);
  if (lost.length > 0) return [`cannot be of type ${lost.join(' or ')} any more`];
  return [...narrowingsOfFormat(old, now), ...narrowingsOfBounds(old, now), ...narrowingsInside(old, now)];
}

/** There are few values, so each is tried. */
function narrowingsOfValues(values: readonly JsonValue[], now: ValueSchema): readonly string[] {
  const check = new CompiledSchema({ properties: { value: now } });
  const refused = values.filter((value) => !check.allows('value', value));
  // They may be what a step makes of older ones, so this does not say that they were allowed before.
  return refused.length === 0 ? [] : [`cannot be ${valuesText(refused, ' or ')} in the new schema`];
}

function narrowingsOfFormat(old: ValueSchema, now: ValueSchema): readonly string[] {
  return now.format === undefined || now.format === old.format ? [] : [`must have the format ${now.format} now`];
}

/** Each bound with the type of values that it is about; 1: values must not be below it, -1: not above it. */
const BOUNDS = [
  ['minimum', 'number', 1],
  ['minLength', 'string', 1],
  ['minItems', 'array', 1],
  ['maximum', 'number', -1],
  ['maxLength', 'string', -1],
  ['maxItems', 'array', -1],
] as const;

function narrowingsOfBounds(old: ValueSchema, now: ValueSchema): readonly string[] {
  return BOUNDS.flatMap(([keyword, type, direction]) => {
    const bound = now[keyword];
    if (bound === undefined || !mayBe(old, type)) return [];
    const before = old[keyword] ?? Number.NEGATIVE_INFINITY * direction;
    return (bound - before) * direction > 0 ? [`has another ${keyword} now, which is stricter`] : [];
  });
}

/** The types that a value may have by the old schema and not by the new one. */
function lostTypes(old: ValueSchema, now: ValueSchema): readonly ValueType[] {
  const allowed = typesOf(now);
  const lost = typesOf(old).filter(
    (type) => !allowed.includes(type) && !(type === 'integer' && allowed.includes('number')),
  );
  return lost.includes('number') ? lost.filter((type) => type !== 'integer') : lost;
}

function mayBe(schema: ValueSchema, type: ValueType): boolean {
  const types = typesOf(schema);
  return types.some((one) => one === type || (type === 'number' && one === 'integer'));
}

function narrowingsInside(old: ValueSchema, now: ValueSchema): readonly string[] {
  const items =
    now.items === undefined || !typesOf(old).includes('array') ? [] : narrowingsOf(old.items ?? {}, now.items);
  const inItems = items.map((reason) => `has items that ${reason}`);
  const isDescribed = now.properties !== undefined || now.additionalProperties === false;
  if (!isDescribed || !typesOf(old).includes('object')) return inItems;
  const asSource = ({ properties = {}, required = [], additionalProperties = true }: ValueSchema) => ({
    properties,
    required,
    additionalProperties,
  });
  return [...inItems, ...narrowings(asSource(old), asSource(now)).map((reason) => `has members of which ${reason}`)];
}
