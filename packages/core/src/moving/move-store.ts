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
  /** Null while the total is unknown. */
  readonly piecesTotal: number | null;
}

/** Numbers of pieces: entries by kind, all others by what they are. */
export type MoveCounts = ReadonlyMap<string, number>;

export type MoveReport =
  | { readonly status: 'moved'; readonly census: MoveCounts; readonly units: number }
  | { readonly status: 'differs'; readonly differences: readonly Difference[]; readonly isMore: boolean };

export interface Move {
  readonly from: MovableStore;
  /** The target, opened for an import. */
  readonly to: MovableStore;
  readonly onProgress?: (progress: MoveProgress) => void;
  /** Describes the target, for people who open the source later. */
  readonly toName: string;
}

/** Differences that are reported. A single one fails the move. */
const DIFFERENCES_MAX = 100;

/**
 * Copies a store, makes the source refuse writes, and compares both. If they are equal, no write to the source was lost.
 * Only then is the source marked as moved, and only after that the target opened, so that a server
 * can never open two stores with the same epoch.
 */
export async function moveStore({ from, to, toName, onProgress = () => undefined }: Move): Promise<MoveReport> {
  const tally = new Tally();
  await to.beginImport(await from.head());
  for await (const portion of from.export(inspectRecord)) {
    await to.import(portion);
    for (const piece of portion) tally.add(piece);
    onProgress({ phase: 'copying', pieces: tally.pieces, units: tally.units, piecesTotal: null });
  }
  const before = await from.migrationState();
  await from.setMigrationState({ state: 'moving', to: toName });
  const differences = await differencesOf(from, to, tally, onProgress).catch(async (error: unknown) => {
    await from.setMigrationState(before?.state === 'moved' ? before : null);
    throw error;
  });
  if (differences.length > 0) {
    await from.setMigrationState(before?.state === 'moved' ? before : null);
    const isMore = differences.length > DIFFERENCES_MAX;
    return { status: 'differs', differences: differences.slice(0, DIFFERENCES_MAX), isMore };
  }
  await from.setMigrationState({ state: 'moved', to: toName });
  await to.setMigrationState(null);
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
  const [source, target] = [await from.head(), await to.head()];
  if (source.epoch !== target.epoch)
    note({ what: 'partition', where: [], problem: 'different', detail: 'store epoch' });
  return differences;
}

/** Pieces between two reports of progress. */
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
