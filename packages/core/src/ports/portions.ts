import { type Piece, PORTION_PIECES_MAX, PORTION_UNITS_MAX } from './moving.ts';

/** Gathers pieces to portions of a bounded size: for engines, so that all of them mean the same by it. */
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

/** The text that can be large. Names are bounded. */
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
