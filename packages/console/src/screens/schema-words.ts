import type { JsonValue, SchemaMode, SourceSchema, Step, ValueSchema } from '@tidemark/protocol';

export const MODE_WORDS: Readonly<Record<SchemaMode, string>> = {
  off: 'off: nothing is checked',
  report: 'report: what does not fit is written and counted',
  enforce: 'enforce: what does not fit is refused',
};

/** An attribute of a schema, or a member of one, as a line for people. */
export interface AttributeLine {
  /** The names that lead to it. */
  readonly path: readonly string[];
  readonly type: string;
  readonly isRequired: boolean;
  readonly isDeprecated: boolean;
  readonly description: string;
}

/** Returns a line for each attribute, followed by its members. */
export function attributeLines(schema: SourceSchema | ValueSchema, parents: readonly string[] = []): AttributeLine[] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const path = [...parents, name];
    const line = {
      path,
      type: typeWords(value),
      isRequired: schema.required?.includes(name) === true,
      isDeprecated: value.deprecated === true,
      description: [value.title, value.description].filter((text) => text !== undefined).join(': '),
    };
    return [line, ...attributeLines(value, path), ...attributeLines(value.items ?? {}, path)];
  });
}

/** Says what a value must be. */
export function typeWords(value: ValueSchema): string {
  return [kindWords(value), ...boundWords(value)].join(', ');
}

function kindWords(value: ValueSchema): string {
  if (value.const !== undefined) return `always ${JSON.stringify(value.const)}`;
  if (value.enum !== undefined) return `one of ${value.enum.map((one) => JSON.stringify(one)).join(', ')}`;
  if (value.format === 'file') return 'file';
  if (value.reference !== undefined) return `id of an object of ${value.reference}`;
  const types = typeof value.type === 'string' ? [value.type] : (value.type ?? []);
  if (types.length === 0) return value.format ?? 'anything';
  return types.map((type) => (type === 'string' ? (value.format ?? 'text') : namedType(type, value))).join(' or ');
}

function namedType(type: string, { items }: ValueSchema): string {
  if (type === 'array') return items === undefined ? 'list' : `list of (${typeWords(items)})`;
  return type === 'integer' ? 'whole number' : type;
}

function boundWords(value: ValueSchema): readonly string[] {
  return [
    rangeWords(value.minimum, value.maximum, ''),
    rangeWords(value.minLength, value.maxLength, ' characters'),
    rangeWords(value.minItems, value.maxItems, ' items'),
  ].filter((words) => words !== '');
}

function rangeWords(least: number | undefined, most: number | undefined, unit: string): string {
  if (least === undefined) return most === undefined ? '' : `at most ${most}${unit}`;
  return most === undefined ? `at least ${least}${unit}` : `${least} to ${most}${unit}`;
}

const PAIRS_SHOWN = 8;

/** Says what a step does to the attributes of objects, and what older apps notice of it. */
export function stepWords(step: Step): string {
  return [`${changeWords(step)}.`, ...inexactWords(step)].join(' ');
}

function changeWords(step: Step): string {
  switch (step.step) {
    case 'rename':
      return `${quoted(step.attribute)} is renamed to ${quoted(step.to)}`;
    case 'add':
      return `${quoted(step.attribute)} is added with the value ${JSON.stringify(step.value)}`;
    case 'remove':
      return `${quoted(step.attribute)} is removed`;
    case 'map':
      return `In ${quoted(step.attribute)}, ${pairWords(step.values)}`;
    case 'convert':
      return `${quoted(step.attribute)} becomes ${CONVERTED[step.to]}`;
    case 'nest':
      return `${movedWords(step.members, 'member')} of ${quoted(step.into)}`;
    case 'unnest':
      return `In ${quoted(step.attribute)}, ${movedWords(step.members, 'attribute')}`;
    case 'split':
      return `${quoted(step.attribute)} is split at ${JSON.stringify(step.separator)} into ${listed(step.into)}`;
    case 'join':
      return `${listed(step.attributes)} are joined with ${JSON.stringify(step.separator)} into ${quoted(step.into)}`;
  }
}

const CONVERTED = {
  text: 'a text',
  number: 'a number',
  list: 'a list with the value in it',
  one: 'the first value of its list',
} as const;

function inexactWords(step: Step): readonly string[] {
  const { otherwise, shown_as } = step as { readonly otherwise?: unknown; readonly shown_as?: JsonValue };
  const what = 'What older apps write and this version cannot express is';
  return [
    ...(shown_as === undefined
      ? []
      : [`Older apps see ${JSON.stringify(shown_as)} where they cannot express the value.`]),
    ...(otherwise === 'refuse' ? [`${what} refused.`] : []),
    ...(otherwise === 'drop' ? [`${what} left out.`] : []),
    ...(otherwise === 'nearest' ? [`${what} written as what comes nearest.`] : []),
    ...(isGiven(otherwise) ? [`${what} written as ${JSON.stringify(otherwise.value)}.`] : []),
  ];
}

function isGiven(otherwise: unknown): otherwise is { readonly value: JsonValue } {
  return typeof otherwise === 'object' && otherwise !== null;
}

function pairWords(pairs: readonly (readonly [JsonValue, JsonValue])[]): string {
  const words = pairs
    .slice(0, PAIRS_SHOWN)
    .map(([old, now]) => `${JSON.stringify(old)} becomes ${JSON.stringify(now)}`);
  const left = pairs.length - PAIRS_SHOWN;
  return [...words, ...(left > 0 ? [`and ${left} more change`] : [])].join(', ');
}

function movedWords(members: Readonly<Record<string, string>>, kind: string): string {
  return Object.entries(members)
    .map(([from, to]) => `${quoted(from)} becomes the ${kind} ${quoted(to)}`)
    .join(', ');
}

function listed(names: readonly string[]): string {
  return names.map(quoted).join(', ');
}

function quoted(name: string): string {
  return `“${name}”`;
}
