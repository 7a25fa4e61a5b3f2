import { addChecksums } from '@tidemark/protocol';
import type { Piece, RecordPiece } from '../ports/moving.ts';
import type { PartitionState, RecordReader } from '../ports/store.ts';
import type { Difference, Export } from './compare-exports.ts';
import { pieceKey } from './piece-key.ts';

/** Passes an export on, and checks size and checksum of every partition against its records. */
export async function* checkPartitions(
  pieces: Export,
  reader: RecordReader,
  onDifference: (difference: Difference) => void,
): Export {
  const check = new RunningCheck(reader, onDifference);
  for await (const portion of pieces) {
    for (const piece of portion) check.take(piece);
    yield portion;
  }
  check.end();
}

class RunningCheck {
  readonly #reader: RecordReader;
  readonly #onDifference: (difference: Difference) => void;
  #partition: Extract<Piece, { readonly what: 'partition' }> | null = null;
  #size = 0;
  #checksum = 0;

  constructor(reader: RecordReader, onDifference: (difference: Difference) => void) {
    this.#reader = reader;
    this.#onDifference = onDifference;
  }

  take(piece: Piece): void {
    if (piece.what === 'partition') {
      this.end();
      this.#partition = piece;
    } else if (piece.what === 'record') this.#record(piece);
  }

  /** Checks the last partition. */
  end(): void {
    const partition = this.#partition;
    if (partition !== null) {
      this.#expect(partition, 'size', this.#size);
      this.#expect(partition, 'checksum', this.#checksum);
    }
    this.#partition = null;
    this.#size = 0;
    this.#checksum = 0;
  }

  #record(piece: RecordPiece): void {
    const read = this.#read(piece.record);
    this.#size += 1;
    this.#checksum = addChecksums(this.#checksum, read?.checksum ?? 0);
    if (read?.id === piece.id && read.checksum === piece.checksum) return;
    const what = read === null ? 'cannot be read' : 'does not follow from its record';
    this.#tell(piece, `object ${JSON.stringify(piece.id)} at ${piece.seq} ${what}`);
  }

  #expect(
    piece: Extract<Piece, { readonly what: 'partition' }>,
    name: keyof Pick<PartitionState, 'size' | 'checksum'>,
    computed: number,
  ): void {
    const kept = piece.state[name];
    if (kept !== computed) this.#tell(piece, `partition has ${name} ${kept}, its records give ${computed}`);
  }

  #tell(piece: Piece, detail: string): void {
    this.#onDifference({ what: piece.what, where: pieceKey(piece), problem: 'different', detail });
  }

  #read(record: string): ReturnType<RecordReader> | null {
    try {
      return this.#reader(record);
    } catch {
      return null;
    }
  }
}
