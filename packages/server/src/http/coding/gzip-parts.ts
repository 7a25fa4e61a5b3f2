import { promisify } from 'node:util';
import { constants, deflateRaw } from 'node:zlib';
import { crc32, joinCrc32 } from './crc32.ts';
import { bytesOf, isShared, joinSmall, type TextPart } from './text-parts.ts';

/**
 * One gzip stream joined from parts that were compressed apart from each other (docs/decisions/0010).
 *
 * A part is a run of deflate blocks that ends on a whole byte and never refers to what stands before it, so parts can
 * follow each other in any order. What makes a stream of them is ten bytes before, an empty last block behind, and the
 * checksum of the whole, which follows from the checksums of the parts. A page that many devices get is thus compressed
 * once, and every answer remains a single ordinary gzip member.
 */
const HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 0xff]);
const LAST_BLOCK = Buffer.from([0x03, 0x00]);
/** Below it a part is put in as it is: tokens and names do not get smaller. */
const STORED_BYTES_MAX = 512;
/** For parts that many are sent, and for those that one is: fast, since nobody else has anything of it. */
const SHARED_LEVEL = 5;
const OWN_LEVEL = 2;

/** A part of a stream, with what the end of the stream has to say of it. */
interface Deflated {
  readonly bytes: readonly Buffer[];
  readonly sum: number;
  readonly plainBytes: number;
}

const deflate = promisify(deflateRaw);
const prepared = new WeakMap<Uint8Array, Promise<Deflated>>();

/** The parts as one gzip stream, in pieces. */
export async function gzipParts(parts: readonly TextPart[]): Promise<readonly Buffer[]> {
  const stream = new GzipStream();
  return [stream.begin(), ...(await stream.add(parts)), stream.end()];
}

/** Whether it takes no compressing, because it has been done for somebody else. */
export function isPrepared(part: TextPart): boolean {
  return typeof part !== 'string' && prepared.has(part);
}

/** A gzip stream that comes piece by piece. */
export class GzipStream {
  #sum = 0;
  #plainBytes = 0;

  begin(): Buffer {
    return HEADER;
  }

  async add(parts: readonly TextPart[]): Promise<readonly Buffer[]> {
    const pieces: Buffer[] = [];
    // One after the other: an answer being compressed takes one thread.
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
  // Remembered before it is done, so that those who come at the same moment wait for the same work.
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

/** Flushed to a whole byte and not finished, so that another part can follow. */
function compressed(plain: Buffer, level: number): Promise<Buffer> {
  return deflate(plain, { level, finishFlush: constants.Z_SYNC_FLUSH });
}

/** What stands before bytes that are put in as they are: not the last block, and their number twice. */
function storedHead(length: number): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(length, 1);
  head.writeUInt16LE(~length & 0xffff, 3);
  return head;
}
