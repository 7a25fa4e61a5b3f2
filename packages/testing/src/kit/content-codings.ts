import { PassThrough, type Transform } from 'node:stream';
import * as zlib from 'node:zlib';

/** How to decode the body of an answer. */
export interface ContentCoding {
  readonly name: 'identity' | 'gzip' | 'br' | 'zstd';
  read(bytes: Buffer): string;
  /** For streamed answers. */
  open(): Transform;
}

interface Zstd {
  zstdDecompressSync(bytes: Buffer): Buffer;
  createZstdDecompress(): Transform;
}

/** The content codings that this version of Node.js can decode; zstd since 22.15. */
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
