import { entriesOf, idText, memberText, type ObjectEntry, ObjectFlaw, type ObjectsGiven } from '../push/objects.ts';

/** Text collected before it is sent, so that small objects share a chunk. */
const PIECE_UNITS = 65_536;

/**
 * Streams objects as one JSON object without white space, which Tidemark compares fastest. Objects are requested when the
 * reader has room. When the first piece cannot be made, or one of the objects that are there already is wrong, this throws, so
 * that the caller can say so. When the source fails later, the stream ends without the closing bracket, so the answer is not
 * complete.
 */
export async function objectsAnswer(
  given: ObjectsGiven<unknown>,
  onFailure: (error: unknown) => void,
): Promise<Response> {
  const entries = entriesOf(given);
  if (Array.isArray(entries) || entries instanceof Map) for (const entry of entries) requireObject(entry);
  const pieces = jsonPieces(entries);
  const encoder = new TextEncoder();
  const first = await pieces.next();
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        if (first.done !== true) controller.enqueue(encoder.encode(first.value));
      },
      async pull(controller) {
        try {
          const { value, done } = await pieces.next();
          if (done === true) controller.close();
          else controller.enqueue(encoder.encode(value));
        } catch (error) {
          onFailure(error);
          controller.error(new Error('the objects could not be read to the end'));
        }
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 1 },
  );
  return new Response(body, { headers: { 'content-type': 'application/json' } });
}

async function* jsonPieces(
  entries: Iterable<ObjectEntry<unknown>> | AsyncIterable<ObjectEntry<unknown>>,
): AsyncGenerator<string, void> {
  let text = '{';
  let separator = '';
  for await (const entry of entries) {
    text += separator + entryText(entry);
    separator = ',';
    if (text.length < PIECE_UNITS) continue;
    yield text;
    text = '';
  }
  yield `${text}}`;
}

function entryText(entry: ObjectEntry<unknown>): string {
  const [id, attributes] = requireObject(entry);
  return memberText(id, attributes);
}

function requireObject(entry: ObjectEntry<unknown>): readonly [id: string, attributes: object] {
  if (!Array.isArray(entry)) throw new ObjectFlaw('a list of objects must have entries of the form [id, attributes]');
  const [given, attributes] = entry as ObjectEntry<unknown>;
  const id = idText(given);
  if (id === null) throw new ObjectFlaw('an object id must be a text that is not empty, or a whole number');
  if (typeof attributes === 'object' && attributes !== null && !Array.isArray(attributes)) return [id, attributes];
  throw new ObjectFlaw(`the object ${JSON.stringify(id)} must have an object of attributes`);
}
