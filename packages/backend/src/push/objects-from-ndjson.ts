import { TidemarkError } from '../client/tidemark-error.ts';
import { type ByteSource, decodeText } from './decode-text.ts';
import { ELEMENT_UNITS_MAX } from './json-elements.ts';
import type { ObjectEntry } from './objects.ts';
import { objectEntry } from './objects-from-json.ts';
import { parsedInput } from './parsed-input.ts';

/**
 * The objects of lines of JSON, each `{"id": "7", "attributes": {…}}` or `["7", {…}]`, read as they arrive. Empty lines
 * are passed over.
 */
export async function* objectsFromNdjson(source: ByteSource): AsyncGenerator<ObjectEntry, void> {
  let count = 0;
  for await (const line of lines(source)) {
    count++;
    if (line.trim() === '') continue;
    const value = parsedInput(line, `line ${count}`);
    yield objectEntry(Array.isArray(value) ? value : memberOf(value), `line ${count}`);
  }
}

function memberOf(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  const { id, attributes } = value as { readonly id?: unknown; readonly attributes?: unknown };
  return [id, attributes];
}

async function* lines(source: ByteSource): AsyncGenerator<string, void> {
  let begun = '';
  for await (const text of decodeText(source)) {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      yield begun + text.slice(start, end);
      begun = '';
      start = end + 1;
    }
    begun += text.slice(start);
    if (begun.length > ELEMENT_UNITS_MAX) throw new TidemarkError('invalid_input', 'a line is too long');
  }
  yield begun;
}
