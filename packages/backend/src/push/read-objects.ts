import { JsonSplitter, parseJson, SplitError, type SplitProblem } from '@tidemark/protocol';
import { TidemarkError } from '../transport/tidemark-error.ts';
import type { Attributes, ObjectEntry } from './objects.ts';

/** One element of the input, such as an object with its attributes. A call cannot hold a larger one. */
const ELEMENT_UNITS_MAX = 10_000_000;

/**
 * Reads the objects of a JSON text of the form `{"<id>": {"<attribute>": <value>}}` while it arrives. It holds no more
 * than the objects of one chunk.
 */
export async function* objectsFromJson(source: ByteSource): AsyncGenerator<ObjectEntry, void> {
  for await (const { key, value, place } of elements(source, '{')) {
    yield objectEntry([key, parsedInput(value, `object ${place}`)], `object ${place}`);
  }
}

/** Reads the ids of a JSON text of the form `["<id>", …]`, for deletions, while it arrives. */
export async function* idsFromJson(source: ByteSource): AsyncGenerator<string, void> {
  for await (const { value, place } of elements(source, '[')) {
    const id = parsedInput(value, `id ${place}`);
    if (typeof id !== 'string') throw new TidemarkError('invalid_input', `id ${place} is not a string`);
    yield id;
  }
}

interface Element {
  readonly key: string;
  readonly value: string;
  /** 1 for the first element. */
  readonly place: number;
}

async function* elements(source: ByteSource, opening: '{' | '['): AsyncGenerator<Element, void> {
  let ready: Element[] = [];
  let count = 0;
  const splitter = new JsonSplitter({
    opening,
    elementUnitsMax: ELEMENT_UNITS_MAX,
    onElement: (key, value) => ready.push({ key, value, place: ++count }),
  });
  const take = (step: () => void): readonly Element[] => {
    ready = [];
    try {
      step();
    } catch (error) {
      throw error instanceof SplitError ? invalid(error.problem, opening, count + 1) : error;
    }
    return ready;
  };
  for await (const text of decodeText(source)) yield* take(() => splitter.push(text));
  yield* take(() => splitter.finish());
}

function invalid(problem: SplitProblem, opening: '{' | '[', place: number): TidemarkError {
  const element = `${opening === '{' ? 'object' : 'id'} ${place}`;
  const details: Readonly<Record<SplitProblem, string>> = {
    begin: `the input must begin with ${opening}`,
    syntax: `${element} is not JSON`,
    key: `${element} is not JSON`,
    incomplete: 'the input ends before the JSON does',
    trailing: 'something follows the end of the JSON',
    too_deep: `${element} is nested too deeply`,
    too_large: `${element} is too large`,
  };
  return new TidemarkError('invalid_input', details[problem]);
}

/** Parses a part of the input. The message of the parser is left out, because it repeats parts of the data. */
function parsedInput(text: string, place: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new TidemarkError('invalid_input', `${place} is not JSON`);
  }
}

function objectEntry(entry: unknown, place: string): ObjectEntry {
  const [id, attributes] = Array.isArray(entry) ? (entry as unknown[]) : [];
  if (typeof id !== 'string') throw new TidemarkError('invalid_input', `${place} has no id`);
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) {
    throw new TidemarkError('invalid_input', `${place} has no attributes`);
  }
  return [id, attributes as Attributes];
}

/**
 * Reads objects from lines of JSON, each `{"id": "7", "attributes": {…}}` or `["7", {…}]`, while they arrive. Empty lines
 * are ignored.
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

/** Bytes or text in chunks, for example of a file or a response. */
export type ByteSource =
  | AsyncIterable<Uint8Array | string>
  | Iterable<Uint8Array | string>
  | ReadableStream<Uint8Array>;

/** Decodes chunks of bytes to text. */
async function* decodeText(source: ByteSource): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  try {
    for await (const piece of source) {
      yield typeof piece === 'string' ? piece : decoder.decode(piece, { stream: true });
    }
    yield decoder.decode();
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && error.code === 'ERR_ENCODING_INVALID_ENCODED_DATA') {
      throw new TidemarkError('invalid_input', 'the input is not UTF-8');
    }
    throw error;
  }
}
