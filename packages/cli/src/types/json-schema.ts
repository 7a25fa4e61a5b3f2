import type { SourceSchema, ValueSchema } from '@tidemark/protocol';
import { type DescribedSource, sortedEntries, sortedSources } from './described-source.ts';
import { MARK } from './written-file.ts';

const FILE = {
  type: 'object',
  properties: {
    $file: {
      type: 'object',
      properties: {
        sha256: { type: 'string' },
        size: { type: 'integer' },
        type: { type: 'string' },
        name: { type: 'string' },
      },
      required: ['sha256', 'size', 'type'],
    },
  },
  required: ['$file'],
} as const;

/**
 * Returns one JSON Schema 2020-12 with a definition for every source, which other tools understand: files are objects, and the
 * source of a reference is in a comment.
 */
export function jsonSchemaText(sources: readonly DescribedSource[]): string {
  const definitions = sortedSources(sources).map(({ name, schema }) => [
    name,
    schema === null ? { type: 'object' } : plainSchema({ ...schema, type: 'object' }),
  ]);
  const text = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    $comment: `${MARK} from the schemas of the sources. Do not change it by hand: run the command again.`,
    $defs: Object.fromEntries(definitions),
  };
  return `${JSON.stringify(text, null, 2)}\n`;
}

/** Returns a schema in the words of JSON Schema alone. */
export function plainSchema({ properties, ...schema }: ValueSchema | SourceSchema): object {
  const { reference, format, type, items, required, ...rest } = schema as ValueSchema;
  if (format === 'file') {
    const file = { ...rest, ...FILE };
    return [type].flat().includes('null') ? { ...rest, anyOf: [FILE, { type: 'null' }] } : file;
  }
  return {
    ...(type === undefined ? {} : { type }),
    ...(format === undefined ? {} : { format }),
    ...(reference === undefined ? {} : { $comment: `The id of an object of ${reference}.` }),
    ...rest,
    ...(items === undefined ? {} : { items: plainSchema(items) }),
    ...(properties === undefined
      ? {}
      : {
          properties: Object.fromEntries(sortedEntries(properties).map(([name, value]) => [name, plainSchema(value)])),
        }),
    ...(required === undefined ? {} : { required: [...required].sort() }),
  };
}
