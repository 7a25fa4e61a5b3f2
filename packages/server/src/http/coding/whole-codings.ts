import type { Transform } from 'node:stream';
import { promisify } from 'node:util';
import * as zlib from 'node:zlib';

/** Compresses a text that cannot be joined from parts. */
interface WholeCoding {
  compress(plain: Buffer): Promise<Buffer>;
  /** Opens a stream that flushes after every write. */
  open(): Transform;
}

/** The zstd functions of Node.js, in the versions that have them. */
interface Zstd {
  createZstdCompress(options: zlib.BrotliOptions): Transform;
  zstdCompress(
    plain: Buffer,
    options: zlib.BrotliOptions,
    callback: (error: Error | null, bytes: Buffer) => void,
  ): void;
  readonly constants: { readonly ZSTD_c_checksumFlag: number; readonly ZSTD_e_flush: number };
}

/** Fast enough for a network; higher levels cost much and save little with JSON. */
const BROTLI_OPTIONS = { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } };
const compressBrotli = promisify(zlib.brotliCompress);

/** The codings that this version of Node.js has. */
export const WHOLE_CODINGS: { readonly br: WholeCoding; readonly zstd?: WholeCoding } = {
  br: {
    compress: (plain) => compressBrotli(plain, BROTLI_OPTIONS),
    open: () => zlib.createBrotliCompress({ ...BROTLI_OPTIONS, flush: zlib.constants.BROTLI_OPERATION_FLUSH }),
  },
  ...('zstdCompress' in zlib ? { zstd: zstdBy(zlib as unknown as Zstd) } : {}),
};

export function wholeCoding(name: keyof typeof WHOLE_CODINGS): WholeCoding {
  const coding = WHOLE_CODINGS[name];
  if (coding === undefined) throw new Error(`this version of Node.js does not support ${name}`);
  return coding;
}

function zstdBy({ createZstdCompress, zstdCompress, constants }: Zstd): WholeCoding {
  // Adds a checksum as gzip does, so that readers detect damage.
  const options = { params: { [constants.ZSTD_c_checksumFlag]: 1 } };
  const compress = promisify(zstdCompress);
  return {
    compress: (plain) => compress(plain, options),
    open: () => createZstdCompress({ ...options, flush: constants.ZSTD_e_flush }),
  };
}
