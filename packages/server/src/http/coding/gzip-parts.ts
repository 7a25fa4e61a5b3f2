import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import { crc32, joinCrc32 } from './crc32.ts';
import { bytesOf, isShared, joinSmall, type TextPart } from './text-parts.ts';

/**
 * Joins one gzip stream from parts that were compressed separately (docs/decisions/0010).
 *
 * A part is a sequence of deflate blocks that ends on a whole byte and never refers to earlier bytes, so parts can be
 * joined in any order. The stream adds a header of ten bytes, an empty last block, and the checksum of the whole,
 * which is computed from the checksums of the parts. So a page for many devices is compressed once, and every answer
 * is still one ordinary gzip member.
 */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** Up to this size a part is stored uncompressed: tokens and names do not get smaller. */
const STORED_BYTES_MAX = 512;
/** Parts for many devices are compressed well, parts for one device quickly. */
const SHARED_LEVEL = 5;
const OWN_LEVEL = 2;

/** A part of the stream, with its share of the trailer. */
interface Deflated {
  readonly bytes: readonly Buffer[];
  readonly sum: number;
  readonly plainBytes: number;
}

const deflate = promisify(deflateRaw);
const prepared = new WeakMap<Uint8Array, Promise<Deflated>>();

/** Returns the parts as one gzip stream in pieces. */
export async function gzipParts(parts: readonly TextPart[]): Promise<readonly Buffer[]> {
  const stream = new GzipStream();
  return [stream.begin(), ...(await stream.add(parts)), stream.end()];
}

/** True if the part has been compressed before. */
export function isPrepared(part: TextPart): boolean {
  return typeof part !== 'string' && prepared.has(part);
}

/** A gzip stream that is written piece by piece. */
export class GzipStream {
  #sum = 0;
  #plainBytes = 0;

  begin(): Buffer {
    return HEADER;
  }

  async add(parts: readonly TextPart[]): Promise<readonly Buffer[]> {
    const pieces: Buffer[] = [];
    // Sequentially, so that one answer takes one thread.
    for (const part of joinSmall(parts)) {
      const { bytes, sum, plainBytes } = await deflatedOf(part);
      this.#sum = joinCrc32(this.#sum, sum, plainBytes);
      this.#plainBytes += plainBytes;
      pieces.push(...bytes);
    }
    return pieces;
  }

  end(): Buffer {
    const end = Buffer.alloc(LAST_BLOCK.length + 8);
    LAST_BLOCK.copy(end);
    end.writeUInt32LE(this.#sum, LAST_BLOCK.length);
    end.writeUInt32LE(this.#plainBytes % 2 ** 32, LAST_BLOCK.length + 4);
    return end;
  }
}

function deflatedOf(part: TextPart): Promise<Deflated> | Deflated {
  if (typeof part === 'string' || !isShared(part)) return deflateBytes(bytesOf(part), OWN_LEVEL);
  const known = prepared.get(part);
  if (known !== undefined) return known;
  // Stored before it is done, so that concurrent answers wait for the same work.
  const work = Promise.resolve(deflateBytes(bytesOf(part), SHARED_LEVEL));
  prepared.set(part, work);
  work.catch(() => prepared.delete(part));
  return work;
}

function deflateBytes(plain: Buffer, level: number): Promise<Deflated> | Deflated {
  const about = { sum: crc32(plain), plainBytes: plain.length };
  return plain.length <= STORED_BYTES_MAX
    ? { ...about, bytes: [storedHead(plain.length), plain] }
    : compressed(plain, level).then((bytes) => ({ ...about, bytes: [bytes] }));
}

/** Flushes to a whole byte without finishing, so that another part can follow. */
function compressed(plain: Buffer, level: number): Promise<Buffer> {
  return deflate(plain, { level, finishFlush: constants.Z_SYNC_FLUSH });
}

/** Returns the header of a stored block that is not the last one: the length and its complement. */
function storedHead(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(~length & 0xffff, 3);
  return head;
}
