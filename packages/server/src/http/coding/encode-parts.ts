import { Refusal } from '@tidemark/protocol';
import { COMPRESSIONS_AT_ONCE_MAX, COMPRESSIONS_WAITING_MAX, SNAPSHOTS_MAX } from '../../limits.ts';
import { ConcurrencyLimit } from '../../primitives/concurrency-limit.ts';
import { GzipStream, gzipParts, isPrepared } from './gzip-parts.ts';
import { LineCompressor } from './line-compressor.ts';
import { mapEach } from './map-each.ts';
import { type Coding, codingFor } from './negotiate-coding.ts';
import {
  bytesOf,
  freeParts,
  joinSmall,
  lengthOf,
  type Piece,
  pieceOf,
  SHARED_BYTES_MIN,
  type TextPart,
  textOf,
} from './text-parts.ts';
import { wholeCoding } from './whole-codings.ts';

/** Below this length compression costs more than it saves. */
const CODED_LENGTH_MIN = 1_024;

interface EncodedBody {
  /** The pieces in the order they are sent. */
  readonly pieces: readonly Piece[];
  readonly coding: Coding;
}

let compressions = 0;

/** Returns the text of a small body that is not worth compressing or must not be compressed; null for other bodies. */
export function smallText(parts: readonly TextPart[], acceptEncoding: string | undefined): string | null {
  const length = lengthOf(parts);
  if (length >= SHARED_BYTES_MIN || (length >= CODED_LENGTH_MIN && codingFor(acceptEncoding) !== 'identity'))
    return null;
  return parts.map(textOf).join('');
}

/** Encodes the parts as one body, in the coding the caller prefers. */
export async function encodeParts(
  parts: readonly TextPart[],
  acceptEncoding: string | undefined,
): Promise<EncodedBody> {
  const joined = joinSmall(parts);
  const coding = lengthOf(joined) < CODED_LENGTH_MIN ? 'identity' : codingFor(acceptEncoding);
  const isCrowded = compressions >= COMPRESSIONS_WAITING_MAX && !joined.some(isPrepared);
  if (coding === 'identity' || isCrowded) return { pieces: joined.map(pieceOf), coding: 'identity' };
  compressions++;
  try {
    return { pieces: await inTurn(joined, coding, () => compress(joined, coding)), coding };
  } finally {
    compressions--;
  }
}

/**
 * Encodes lines as one body in pieces. The next line is read when the one before has been passed on: whoever asks for
 * it has sent all large pieces of the one before, whose memory is freed then.
 */
export function encodeLines(
  lineParts: AsyncIterable<readonly TextPart[]>,
  coding: Coding,
): AsyncIterable<readonly Piece[]> {
  const lines = freeingLines(lineParts);
  if (coding === 'identity') return mapEach(lines, (parts) => joinSmall(parts).map(pieceOf));
  return coding === 'gzip' ? gzipLines(lines) : compressedLines(lines, coding);
}

async function* freeingLines(lines: AsyncIterable<readonly TextPart[]>): AsyncIterable<readonly TextPart[]> {
  for await (const parts of lines) {
    yield parts;
    freeParts(parts);
  }
}

/** Work that compresses nothing does not wait for a compression slot. */
function inTurn<T>(parts: readonly TextPart[], coding: Coding, work: () => Promise<T>): Promise<T> {
  const isReady = (part: TextPart) => part.length < SHARED_BYTES_MIN || isPrepared(part);
  return coding === 'gzip' && parts.every(isReady) ? work() : withCompressionSlot(work);
}

async function* compressedLines(
  lines: AsyncIterable<readonly TextPart[]>,
  coding: Exclude<Coding, 'identity' | 'gzip'>,
): AsyncGenerator<readonly Piece[], void, undefined> {
  const compressor = new LineCompressor(wholeCoding(coding).open());
  try {
    for await (const parts of lines) {
      yield await inTurn(parts, coding, () => compressor.add(Buffer.concat(parts.map(bytesOf))));
    }
    yield await compressor.end();
  } finally {
    compressor.close();
  }
}

async function compress(parts: readonly TextPart[], coding: Exclude<Coding, 'identity'>): Promise<readonly Buffer[]> {
  if (coding === 'gzip') return gzipParts(parts);
  return [await wholeCoding(coding).compress(Buffer.concat(parts.map(bytesOf)))];
}

async function* gzipLines(
  lines: AsyncIterable<readonly TextPart[]>,
): AsyncGenerator<readonly Piece[], void, undefined> {
  const stream = new GzipStream();
  yield [stream.begin()];
  for await (const parts of lines) yield await inTurn(parts, 'gzip', () => stream.add(parts));
  yield [stream.end()];
}

/**
 * Compression takes a thread of a small pool that password hashing and file access need as well. So only some answers
 * are compressed at a time, and the others wait. Pulls that would wait too long are sent uncompressed; the number of
 * snapshots is bounded anyway.
 */
const limit = new ConcurrencyLimit({
  atOnceMax: COMPRESSIONS_AT_ONCE_MAX,
  waitingMax: COMPRESSIONS_WAITING_MAX + SNAPSHOTS_MAX,
  refusal: () => new Refusal('overloaded', 'too many answers wait to be compressed', [], 1),
});

/** Runs the work when a compression slot is free. */
export function withCompressionSlot<T>(work: () => Promise<T>): Promise<T> {
  return limit.run(work);
}
