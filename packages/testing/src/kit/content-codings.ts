import { PassThrough, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';

/** How a reader gets back the text of an answer. */
export interface ContentCoding {
  readonly name: 'identity' | 'gzip' | 'br' | 'zstd';
  read(bytes: Buffer): string;
  /** For answers that are read as they come. */
  open(): Transform;
}

interface Zstd {
  zstdDecompressSync(bytes: Buffer): Buffer;
  createZstdDecompress(): Transform;
}

/** Every coding this version of Node can read: zstd is one of them from 22.15 on. */
export const CONTENT_CODINGS: readonly ContentCoding[] = [
  { name: 'identity', read: (bytes) => bytes.toString(), open: () => new PassThrough() },
  { name: 'gzip', read: (bytes) => zlib.gunzipSync(bytes).toString(), open: () => zlib.createGunzip() },
  {
    name: 'br',
    read: (bytes) => zlib.brotliDecompressSync(bytes).toString(),
    open: () => zlib.createBrotliDecompress(),
  },
  ...('zstdDecompressSync' in zlib ? [zstdBy(zlib as unknown as Zstd)] : []),
];

function zstdBy({ zstdDecompressSync, createZstdDecompress }: Zstd): ContentCoding {
  return { name: 'zstd', read: (bytes) => zstdDecompressSync(bytes).toString(), open: () => createZstdDecompress() };
}
