import { inspectRecord } from '../journal/record.ts';
import type { MovableStore, Piece } from '../ports/moving.ts';
import { unitsOf } from '../ports/portions.ts';
import { checkPartitions } from './check-partitions.ts';
import { compareExports, type Difference } from './compare-exports.ts';

export type MovePhase = 'copying' | 'comparing';

export interface MoveProgress {
  readonly phase: MovePhase;
  readonly pieces: number;
  readonly units: number;
  /** Null while nobody knows. */
  readonly piecesTotal: number | null;
}

/** How many of each there are: kinds of entries by their own names, everything else by what it is. */
export type MoveCounts = ReadonlyMap<string, number>;

export type MoveReport =
  | { readonly status: 'moved'; readonly census: MoveCounts; readonly units: number }
  | { readonly status: 'differs'; readonly differences: readonly Difference[]; readonly isMore: boolean };

export interface Move {
  readonly from: MovableStore;
  /** Opened to be filled. */
  readonly to: MovableStore;
  readonly onProgress?: (progress: MoveProgress) => void;
  /** What the source is to say of where it has gone. */
  readonly toName: string;
}

/** Differences that are told; one is enough for the move to have failed. */
const DIFFERENCES_MAX = 100;

/**
 * Copies a store, then closes it and reads both again side by side. When what is read now is what was copied, nothing is
 * lost that was written to the source before it was closed. Only then is it closed for good, and only after that the
 * target opened: there are never two that a server would take for the same life.
 */
export async function moveStore({ from, to, toName, onProgress = () => undefined }: Move): Promise<MoveReport> {
  const tally = new Tally();
  await to.beginImport(await from.life());
  for await (const portion of from.export(inspectRecord)) {
    await to.import(portion);
    for (const piece of portion) tally.add(piece);
    onProgress({ phase: 'copying', pieces: tally.pieces, units: tally.units, piecesTotal: null });
  }
  const before = await from.seal();
  await from.setSeal({ state: 'moving', to: toName });
  const differences = await differencesOf(from, to, tally, onProgress).catch(async (error: unknown) => {
    await from.setSeal(before?.state === 'moved' ? before : null);
    throw error;
  });
  if (differences.length > 0) {
    await from.setSeal(before?.state === 'moved' ? before : null);
    const isMore = differences.length > DIFFERENCES_MAX;
    return { status: 'differs', differences: differences.slice(0, DIFFERENCES_MAX), isMore };
  }
  await from.setSeal({ state: 'moved', to: toName });
  await to.setSeal(null);
  return { status: 'moved', census: tally.census, units: tally.units };
}

async function differencesOf(
  from: MovableStore,
  to: MovableStore,
  copied: Tally,
  onProgress: (progress: MoveProgress) => void,
): Promise<readonly Difference[]> {
  const compared = new Tally();
  const differences: Difference[] = [];
  const left = from.export(inspectRecord);
  const note = (difference: Difference) => {
    if (differences.length <= DIFFERENCES_MAX) differences.push(difference);
  };
  const checked = checkPartitions(to.export(inspectRecord), inspectRecord, note);
  const onPiece = (piece: Piece) => {
    compared.add(piece);
    if (compared.pieces % PIECES_PER_WORD !== 0) return;
    onProgress({
      phase: 'comparing',
      pieces: compared.pieces,
      units: compared.units,
      piecesTotal: copied.pieces,
    });
  };
  for await (const difference of compareExports(left, checked, onPiece)) {
    note(difference);
    if (differences.length > DIFFERENCES_MAX) break;
  }
  const [life, other] = [await from.life(), await to.life()];
  if (life.epoch !== other.epoch) note({ what: 'partition', where: [], problem: 'different', detail: 'store epoch' });
  return differences;
}

/** Pieces between two words about how far it has come. */
const PIECES_PER_WORD = 1_000;

class Tally {
  readonly census = new Map<string, number>();
  pieces = 0;
  units = 0;

  add(piece: Piece): void {
    const kind = piece.what === 'entry' ? (piece.key[0] ?? 'entry') : piece.what;
    this.census.set(kind, (this.census.get(kind) ?? 0) + 1);
    this.pieces += 1;
    this.units += unitsOf(piece);
  }
}
