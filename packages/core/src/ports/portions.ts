import { type Piece, PORTION_PIECES_MAX, PORTION_UNITS_MAX } from './moving.ts';

/** Groups pieces into portions of a bounded size, in the same way for all engines. */
export async function* portionsOf(
  pieces: AsyncIterable<Piece> | Iterable<Piece>,
  bounds: { readonly piecesMax: number; readonly unitsMax: number } = {
    piecesMax: PORTION_PIECES_MAX,
    unitsMax: PORTION_UNITS_MAX,
  },
): AsyncIterable<readonly Piece[]> {
  let portion: Piece[] = [];
  let units = 0;
  for await (const piece of pieces) {
    const more = unitsOf(piece);
    if (portion.length > 0 && (portion.length >= bounds.piecesMax || units + more > bounds.unitsMax)) {
      yield portion;
      portion = [];
      units = 0;
    }
    portion.push(piece);
    units += more;
  }
  if (portion.length > 0) yield portion;
}

/** Returns the length of the text of a piece. Names are short and not counted. */
export function unitsOf(piece: Piece): number {
  switch (piece.what) {
    case 'entry':
      return piece.value.length;
    case 'record':
      return piece.record.length;
    case 'note':
      return piece.note.text.length;
    case 'part':
      return piece.text.length;
    case 'job':
      return piece.job.payload.length;
    default:
      return 0;
  }
}
