import type { Piece } from '../ports/moving.ts';
import { compareKeys, type KeyPart, pieceKey } from './piece-key.ts';

export interface Difference {
  readonly what: Piece['what'];
  /** The key of the piece. */
  readonly where: readonly KeyPart[];
  readonly problem: 'missing' | 'unexpected' | 'different';
  /** Names the fields that differ, never their content, which may be private. */
  readonly detail: string;
}

export type Export = AsyncIterable<readonly Piece[]>;

/** Compares two exports piece by piece. `onPiece` is called with every piece of the first one. */
export async function* compareExports(
  expected: Export,
  found: Export,
  onPiece: (piece: Piece) => void = () => undefined,
): AsyncIterable<Difference> {
  const left = new Cursor(expected);
  const right = new Cursor(found);
  try {
    for (;;) {
      const [mine, theirs] = [await left.piece(), await right.piece()];
      if (mine === null && theirs === null) return;
      const order = orderOf(mine, theirs);
      if (mine !== null && order <= 0) onPiece(mine);
      yield* differences(mine, theirs, order);
      if (order <= 0) left.advance();
      if (order >= 0) right.advance();
    }
  } finally {
    await left.close();
    await right.close();
  }
}

function orderOf(mine: Piece | null, theirs: Piece | null): number {
  if (mine === null) return 1;
  return theirs === null ? -1 : compareKeys(pieceKey(mine), pieceKey(theirs));
}

function* differences(mine: Piece | null, theirs: Piece | null, order: number): Iterable<Difference> {
  if (mine !== null && order < 0) yield difference(mine, 'missing', nameOf(mine));
  else if (theirs !== null && order > 0) yield difference(theirs, 'unexpected', nameOf(theirs));
  else if (mine !== null && theirs !== null) {
    const names = differingNames(mine, theirs);
    if (names.length > 0) yield difference(mine, 'different', `${nameOf(mine)} differs in ${names.join(', ')}`);
  }
}

function difference(piece: Piece, problem: Difference['problem'], detail: string): Difference {
  return { what: piece.what, where: pieceKey(piece), problem, detail };
}

/** Numbers are shown, texts are not. */
function differingNames(mine: Piece, theirs: Piece): readonly string[] {
  const left = pieceContent(mine);
  const right = pieceContent(theirs);
  const names = [...new Set([...Object.keys(left), ...Object.keys(right)])];
  return names.flatMap((name) => {
    const [one, other] = [left[name], right[name]];
    if (JSON.stringify(one) === JSON.stringify(other)) return [];
    return typeof one === 'number' && typeof other === 'number' ? [`${name} (${one}, found ${other})`] : [name];
  });
}

function nameOf(piece: Piece): string {
  switch (piece.what) {
    case 'record':
    case 'tombstone':
      return `object ${JSON.stringify(piece.id)} at ${piece.seq}`;
    case 'entry':
      return `${piece.key[0] ?? ''} entry`;
    default:
      return piece.what;
  }
}

/** Yields the pieces of a stream of portions one by one. */
class Cursor {
  readonly #portions: AsyncIterator<readonly Piece[]>;
  #portion: readonly Piece[] = [];
  #at = 0;
  #isDone = false;

  constructor(portions: Export) {
    this.#portions = portions[Symbol.asyncIterator]();
  }

  async piece(): Promise<Piece | null> {
    while (!this.#isDone && this.#at >= this.#portion.length) {
      const next = await this.#portions.next();
      this.#at = 0;
      this.#isDone = next.done === true;
      this.#portion = next.done === true ? [] : next.value;
    }
    return this.#portion[this.#at] ?? null;
  }

  advance(): void {
    this.#at += 1;
  }

  async close(): Promise<void> {
    await this.#portions.return?.();
  }
}

/** Returns the fields that must be equal on both sides. */
function pieceContent(piece: Piece): Readonly<Record<string, unknown>> {
  switch (piece.what) {
    case 'entry':
      return { value: piece.value, version: piece.version };
    case 'partition': {
      const { epoch, head, floor, size, checksum, earlier = [] } = piece.state;
      return { epoch, head, floor, size, checksum, earlier: earlier.map((one) => [one.epoch, one.upTo]) };
    }
    case 'record':
      return { object: piece.id, record: piece.record, checksum: piece.checksum };
    case 'tombstone':
      return { tombstone: piece.id };
    case 'tidemark': {
      const { epoch, seq, base, start, sent = null, seenAtMs } = piece.mark;
      return { epoch, seq, base, start, sent, seenAtMs };
    }
    case 'note':
      return { text: piece.note.text, endsAtMs: piece.endsAtMs };
    case 'document':
      return { type: piece.type, version: piece.version, parts: piece.partCount, units: piece.units };
    case 'part':
      return { text: piece.text };
    case 'stat':
      return { count: piece.row.count, sum: piece.row.sum, min: piece.row.min, max: piece.row.max };
    case 'queue':
      return { isPaused: piece.isPaused };
    case 'job':
      return jobContent(piece.job);
  }
}

function jobContent(job: Extract<Piece, { readonly what: 'job' }>['job']): Readonly<Record<string, unknown>> {
  const { kind, payload, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason, standing, atMs } = job;
  return { kind, payload, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason, standing, atMs };
}
