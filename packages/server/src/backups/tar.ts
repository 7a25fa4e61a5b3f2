import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import type { BackupEntry } from './backup-folder.ts';

const BLOCK_BYTES = 512;
const FILE_MODE = '0000600';
/** The largest size that the octal field of a header can hold. */
const OCTAL_BYTES_MAX = 0o77777777777;

/** Returns the size of the archive, which is known before it is read. */
export function tarBytes({ name, files }: BackupEntry): number {
  const contents = files.map((file) => BLOCK_BYTES + inBlocks(file.bytes));
  return contents.reduce((sum, bytes) => sum + bytes, headerOf(`${name}/`, 0, 0).length + 2 * BLOCK_BYTES);
}

/** Reads a backup as a tar archive with one folder. Every file is read up to the size it had when it was listed. */
export async function* readTar({ name, folder, files, madeAtMs }: BackupEntry): AsyncGenerator<Buffer> {
  const madeAtS = Math.floor(madeAtMs / 1_000);
  yield headerOf(`${name}/`, 0, madeAtS);
  for (const file of files) {
    yield headerOf(`${name}/${file.name}`, file.bytes, madeAtS);
    if (file.bytes > 0) yield* createReadStream(join(folder, file.name), { end: file.bytes - 1 });
    yield Buffer.alloc(inBlocks(file.bytes) - file.bytes);
  }
  yield Buffer.alloc(2 * BLOCK_BYTES);
}

function inBlocks(bytes: number): number {
  return Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;
}

/** Returns the header of a file, or of a folder if the path ends with a slash (POSIX ustar). */
function headerOf(path: string, bytes: number, madeAtS: number): Buffer {
  const isFolder = path.endsWith('/');
  const header = Buffer.alloc(BLOCK_BYTES);
  header.write(path, 0, 100);
  header.write(isFolder ? '0000700' : FILE_MODE, 100);
  header.write('0000000', 108);
  header.write('0000000', 116);
  writeSize(header, bytes);
  header.write(madeAtS.toString(8).padStart(11, '0'), 136);
  header.write(' '.repeat(8), 148);
  header.write(isFolder ? '5' : '0', 156);
  header.write('ustar\u000000', 257, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\u0000 `, 148, 'latin1');
  return header;
}

/** Sizes beyond 8 GiB are written in binary, as GNU tar does. */
function writeSize(header: Buffer, bytes: number): void {
  if (bytes <= OCTAL_BYTES_MAX) {
    header.write(bytes.toString(8).padStart(11, '0'), 124);
    return;
  }
  header.writeUInt8(0x80, 124);
  header.writeBigUInt64BE(BigInt(bytes), 128);
}
