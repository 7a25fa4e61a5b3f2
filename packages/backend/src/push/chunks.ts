import { utf8Bytes } from '@tidemark/protocol';
import { TidemarkError } from '../transport/tidemark-error.ts';

/** What one object adds to the body: one text per section, null where it adds nothing. */
export interface Piece {
  readonly id: string;
  readonly texts: readonly (string | null)[];
}

/** The form of a body: its sections one after the other, each a JSON object or list with a member per object. */
export interface BodyForm {
  /** JSON members that stand in every body. */
  readonly envelope: Readonly<Record<string, unknown>>;
  readonly sections: readonly { readonly name: string; readonly brackets: '{}' | '[]' }[];
}

export interface ChunkBounds {
  readonly bytesMax: number;
  readonly objectsMax: number;
}

/** The body of one call. */
export interface Chunk {
  readonly body: string;
  readonly objects: number;
  readonly bytes: number;
  readonly isLast: boolean;
}

/**
 * Bodies that together hold all pieces in their order, each within the bounds and as full as they allow. There is always
 * at least one. An object that comes again begins a new body: in one body the second would hide the first, in two calls
 * they happen one after the other.
 */
export async function* chunksOf(
  pieces: Iterable<Piece> | AsyncIterable<Piece>,
  form: BodyForm,
  bounds: ChunkBounds,
): AsyncGenerator<Chunk, void> {
  let filling = new Filling(form);
  for await (const some of portionsOf(pieces)) {
    for (const piece of some) {
      if (filling.add(piece, bounds)) continue;
      if (filling.objects > 0) {
        yield filling.close(false);
        filling = new Filling(form);
      }
      if (!filling.add(piece, bounds)) throw tooLarge(piece.id, bounds);
    }
  }
  yield filling.close(true);
}

/** Pieces that are there already are one portion: to wait for each would cost as much as to add it. */
async function* portionsOf(pieces: Iterable<Piece> | AsyncIterable<Piece>): AsyncGenerator<Iterable<Piece>, void> {
  if (Symbol.iterator in pieces) yield pieces;
  else for await (const piece of pieces) yield [piece];
}

class Filling {
  readonly #form: BodyForm;
  readonly #members: string[][];
  readonly #ids = new Set<string>();
  #bytes: number;

  constructor(form: BodyForm) {
    this.#form = form;
    this.#members = form.sections.map(() => []);
    this.#bytes = utf8Bytes(bodyOf(form, this.#members));
  }

  get objects(): number {
    return this.#ids.size;
  }

  /** False, and nothing is added, when there is no room for it. */
  add(piece: Piece, { bytesMax, objectsMax }: ChunkBounds): boolean {
    if (this.#ids.size >= objectsMax || this.#ids.has(piece.id)) return false;
    const bytes = this.#bytes + this.#bytesOf(piece);
    if (bytes > bytesMax) return false;
    this.#bytes = bytes;
    this.#ids.add(piece.id);
    for (const [section, text] of piece.texts.entries()) if (text !== null) this.#members[section]?.push(text);
    return true;
  }

  close(isLast: boolean): Chunk {
    return { body: bodyOf(this.#form, this.#members), objects: this.#ids.size, bytes: this.#bytes, isLast };
  }

  #bytesOf({ texts }: Piece): number {
    let bytes = 0;
    for (const [section, text] of texts.entries()) {
      // All but the first of a section come with a comma.
      if (text !== null) bytes += utf8Bytes(text) + ((this.#members[section]?.length ?? 0) > 0 ? 1 : 0);
    }
    return bytes;
  }
}

function bodyOf({ envelope, sections }: BodyForm, members: readonly (readonly string[])[]): string {
  const filled = sections.map(({ name, brackets }, index) => {
    const [opening, closing] = [brackets[0], brackets[1]];
    return `${JSON.stringify(name)}:${opening}${members[index]?.join(',') ?? ''}${closing}`;
  });
  const fixed = Object.entries(envelope).map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
  return `{${[...fixed, ...filled].join(',')}}`;
}

function tooLarge(id: string, { bytesMax }: ChunkBounds): TidemarkError {
  return new TidemarkError('object_too_large', `the object ${JSON.stringify(id)} is larger than ${bytesMax} bytes`, {
    hint: 'the server refuses it as well, unless its operator has allowed larger bodies; then raise chunkBytesMax',
  });
}
