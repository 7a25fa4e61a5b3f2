import { TidemarkError } from '../client/tidemark-error.ts';
import type { ByteSource } from './decode-text.ts';
import { jsonElements } from './json-elements.ts';
import type { Attributes, ObjectEntry } from './objects.ts';
import { parsedInput } from './parsed-input.ts';

/**
 * The objects of a JSON text of the form `{"<id>": {"<attribute>": <value>}}`, read as it arrives: however large the file
 * is, no more than one object is held.
 */
export async function* objectsFromJson(source: ByteSource): AsyncGenerator<ObjectEntry, void> {
  let count = 0;
  for await (const text of jsonElements(source, '{')) {
    count++;
    const [member] = Object.entries(parsedInput(`{${text}}`, `object ${count}`) as Record<string, unknown>);
    yield objectEntry(member, `object ${count}`);
  }
}

/** The ids of a JSON text of the form `["<id>", …]`, for deletions, read as it arrives. */
export async function* idsFromJson(source: ByteSource): AsyncGenerator<string, void> {
  let count = 0;
  for await (const text of jsonElements(source, '[')) {
    count++;
    const id = parsedInput(text, `id ${count}`);
    if (typeof id !== 'string') throw new TidemarkError('invalid_input', `id ${count} is not a string`);
    yield id;
  }
}

export function objectEntry(entry: unknown, place: string): ObjectEntry {
  const [id, attributes] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof id !== 'string') throw new TidemarkError('invalid_input', `${place} has no id`);
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) {
    throw new TidemarkError('invalid_input', `${place} has no attributes`);
  }
  return [id, attributes as Attributes];
}
