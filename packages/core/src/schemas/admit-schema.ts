import { pointer, Refusal, SCHEMA_BYTES_MAX, type SourceSchema, utf8Bytes } from '@tidemark/protocol';
import {
  admitFlag,
  admitKeywords,
  admitProperties,
  admitRequired,
  admitText,
  notAllowed,
  type Place,
  requireDeclared,
  topPlace,
} from './keywords.ts';

const KEYWORDS_OF_SOURCES = {
  title: admitText,
  description: admitText,
  type: admitObjectType,
  properties: (value: unknown, place: Place) => admitProperties(value, place, 'attribute'),
  required: admitRequired,
  additionalProperties: admitFlag,
};

/** Checks the schema of a source. `path` leads to it in the request. */
export function admitSchema(value: unknown, path: readonly string[] = ['schema']): SourceSchema {
  const place = topPlace(path);
  const schema = admitKeywords<SourceSchema>(value, KEYWORDS_OF_SOURCES, place);
  if (schema.properties === undefined) throw notAllowed('needs "properties", the attributes of an object', place);
  requireDeclared(schema, place);
  const bytes = utf8Bytes(JSON.stringify(schema));
  if (bytes > SCHEMA_BYTES_MAX) {
    const detail = `${bytes} bytes are more than the ${SCHEMA_BYTES_MAX} allowed`;
    throw new Refusal('limit_exceeded', `the schema: ${detail}`, [{ pointer: pointer(...path), detail }]);
  }
  return schema;
}

function admitObjectType(value: unknown, place: Place): 'object' {
  if (value === 'object') return value;
  throw notAllowed('must be "object", because objects have attributes', place);
}
