import type { SourceSchema, ValueSchema } from '@tidemark/protocol';

const WIDTH = 120;

/** Returns the comment that says what a schema says in words, with the line break behind it; nothing if it says nothing. */
export function commentOf(schema: ValueSchema | SourceSchema, indent = ''): string {
  const lines = linesOf(schema);
  if (lines.length === 0) return '';
  const [only = ''] = lines;
  const short = `${indent}/** ${only} */`;
  if (lines.length === 1 && short.length <= WIDTH) return `${short}\n`;
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`, ''].join('\n');
}

function linesOf(schema: ValueSchema | SourceSchema): readonly string[] {
  const { title, description } = schema;
  const texts = [title, description, ...notesOf(schema)].filter((text) => text !== undefined && text !== '');
  // The comment must not end before its end.
  return texts.flatMap((text) => `${text}`.replaceAll('*/', '*\\/').split(/\r\n|[\r\n\u2028\u2029]/));
}

function notesOf(schema: ValueSchema): readonly string[] {
  const { reference, format, deprecated } = schema;
  return [
    ...(reference === undefined ? [] : [`The id of an object of ${reference}.`]),
    ...(format === undefined || format === 'file' ? [] : [`@format ${format}`]),
    ...(deprecated === true ? ['@deprecated'] : []),
  ];
}
