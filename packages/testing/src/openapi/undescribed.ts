import { REFUSALS } from '@tidemark/protocol';
import { type ApiDocument, type ApiParameter, endpointsOf, type Schema } from '../conformance/api-document.ts';

type Node = Readonly<Record<string, unknown>>;

/** Returns the operations, parameters and properties of an OpenAPI document without a description or an example. */
export function undescribed(document: ApiDocument): readonly string[] {
  return [...operationFlaws(document), ...propertyFlaws(document)];
}

function operationFlaws(document: ApiDocument): readonly string[] {
  const tags = new Set((document.tags ?? []).filter(isDescribed).map(({ name }) => name));
  const seen = new Set<string>();
  return endpointsOf(document).flatMap(({ method, template, operation }) => {
    const place = `${method} ${template}`;
    const { operationId = '', parameters = [], summary = '', description = '' } = operation;
    const isRepeated = seen.has(operationId);
    seen.add(operationId);
    return [
      ...(/^[a-z][A-Za-z]+$/.test(operationId) ? [] : [`${place} has no operationId`]),
      ...(isRepeated ? [`${place} has the operationId of another operation, ${operationId}`] : []),
      ...(summary === '' || description === '' ? [`${place} has no summary or no description`] : []),
      ...(operation.tags?.length === 1 && tags.has(operation.tags[0] ?? '') ? [] : [`${place} has no described tag`]),
      ...parameters
        .filter((parameter) => !isDescribed(parameter))
        .map(({ name }) => `${place}: ${name} is not described`),
      ...parameters.filter((parameter) => !hasExample(parameter)).map(({ name }) => `${place}: ${name} has no example`),
    ];
  });
}

function hasExample({ example, schema }: ApiParameter): boolean {
  return example !== undefined || schema.enum !== undefined;
}

function isDescribed({ description }: { readonly description?: unknown }): boolean {
  return typeof description === 'string' && description !== '';
}

/** Returns every property of every schema in the document. */
function propertyFlaws(document: ApiDocument): readonly string[] {
  const flaws: string[] = [];
  const visitProperty = (schema: Schema, place: string): void => {
    if (!isDescribed(schema)) flaws.push(`${place} is not described`);
    if (!showsItself(schema)) flaws.push(`${place} has no example`);
  };
  const visit = (node: unknown, place: string): void => {
    if (typeof node !== 'object' || node === null) return;
    for (const [name, property] of Object.entries(propertiesOf(node as Node))) {
      visitProperty(followed(document, property), `${place}/${name}`);
    }
    for (const [name, member] of Object.entries(node)) if (!DATA.has(name)) visit(member, `${place}/${name}`);
  };
  // The codes of a response narrow the problem that is described elsewhere.
  visit({ ...document, components: { ...document.components, responses: {} } }, '#');
  return flaws;
}

/** Members that hold data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['example', 'examples', 'enum']);

function propertiesOf({ type, properties }: Node): Readonly<Record<string, Schema>> {
  return type === 'object' && typeof properties === 'object' ? (properties as Readonly<Record<string, Schema>>) : {};
}

function followed(document: ApiDocument, schema: Schema): Schema {
  const name = /^#\/components\/schemas\/(\w+)$/.exec(String(schema.$ref ?? ''))?.[1];
  return name === undefined ? schema : { ...document.components?.schemas?.[name], $ref: schema.$ref };
}

/** Enumerations, booleans and nulls need no example, nor do objects and lists of described parts. */
function showsItself({
  $ref,
  examples,
  enum: allowed,
  type,
  properties,
  items,
  additionalProperties,
}: Schema): boolean {
  if ($ref !== undefined || examples !== undefined || allowed !== undefined) return true;
  if (type === 'boolean' || type === 'null' || properties !== undefined) return true;
  return [items, additionalProperties].some((part) => typeof part === 'object' && part !== null && isOfParts(part));
}

function isOfParts(part: object): boolean {
  return '$ref' in part || 'properties' in part || 'anyOf' in part;
}

/** Returns codes of the document that the catalogue does not have, or has with another status. */
export function uncataloguedCodes(document: ApiDocument): readonly string[] {
  return endpointsOf(document).flatMap(({ method, template, operation }) =>
    Object.entries(operation.responses).flatMap(([status, response]) =>
      codesOf(document, response)
        .filter(
          (code) => !Object.hasOwn(REFUSALS, code) || REFUSALS[code as keyof typeof REFUSALS].status !== Number(status),
        )
        .map((code) => `${method} ${template} ${status}: ${code}`),
    ),
  );
}

function codesOf(document: ApiDocument, response: object): readonly string[] {
  const name = '$ref' in response ? String(response.$ref).split('/').at(-1) : undefined;
  const { content = {} } = (name === undefined ? response : (document.components?.responses?.[name] ?? {})) as {
    readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
  };
  const { allOf = [] } = (content['application/problem+json']?.schema ?? {}) as { readonly allOf?: readonly Schema[] };
  const { code } = (allOf[1]?.properties ?? {}) as { readonly code?: { readonly enum: readonly string[] } };
  return code?.enum ?? [];
}
