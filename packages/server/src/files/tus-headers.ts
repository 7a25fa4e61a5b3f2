import type { IncomingHttpHeaders } from 'node:http';
import type { Checksum } from '@tidemark/files';
import { isSha256 } from '@tidemark/files';
import { pointer, Refusal } from '@tidemark/protocol';
import { RefusalWithHeaders } from '../primitives/refusal-with-headers.ts';

export const TUS_VERSION = '1.0.0';
export const TUS_EXTENSIONS = 'creation,expiration,checksum,termination';
export const TUS_CHECKSUMS = 'sha1,sha256';
export const OFFSET_TYPE = 'application/offset+octet-stream';

const COUNT = /^\d{1,15}$/;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;

/** What a device announces before it sends a file. */
export interface AnnouncedFile {
  readonly sha256: string;
  readonly size: number;
}

/** Refuses a call that speaks another version of the upload protocol. */
export function requireTusVersion(headers: IncomingHttpHeaders): void {
  const version = headers['tus-resumable'];
  if (version === TUS_VERSION) return;
  const detail = `send Tus-Resumable: ${TUS_VERSION}, the version of tus that this server speaks`;
  throw new RefusalWithHeaders('tus_version', detail, { 'tus-version': TUS_VERSION });
}

export function readAnnouncedFile(headers: IncomingHttpHeaders): AnnouncedFile {
  const size = countIn(headers, 'upload-length');
  const sha256 = readMetadata(text(headers, 'upload-metadata')).get('sha256')?.toString('latin1') ?? '';
  if (!isSha256(sha256)) {
    throw flawed('upload-metadata', 'must have sha256 with the base64 of 64 lower-case hex digits');
  }
  return { sha256, size };
}

export function countIn(headers: IncomingHttpHeaders, name: 'upload-length' | 'upload-offset'): number {
  const value = text(headers, name);
  if (!COUNT.test(value)) throw flawed(name, 'must be a whole number of bytes');
  return Number(value);
}

/** Reads `Upload-Checksum: sha1 <base64>`; undefined: there is none. */
export function readChecksum(headers: IncomingHttpHeaders): Checksum | undefined {
  const value = text(headers, 'upload-checksum');
  if (value === '') return undefined;
  const [, algorithm, encoded] = /^(sha1|sha256) ([A-Za-z0-9+/]+={0,2})$/.exec(value) ?? [];
  if (encoded === undefined)
    throw flawed('upload-checksum', 'must be sha1 or sha256, a space, and the digest in base64');
  return { algorithm: algorithm as Checksum['algorithm'], digest: Buffer.from(encoded, 'base64') };
}

/** Reads `key base64,key base64,…`. */
function readMetadata(value: string): ReadonlyMap<string, Buffer> {
  const pairs = value.split(',').map((pair) => pair.trim().split(' '));
  return new Map(
    pairs.map(([key = '', encoded = '']) => [
      key,
      BASE64.test(encoded) ? Buffer.from(encoded, 'base64') : Buffer.alloc(0),
    ]),
  );
}

function text(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return typeof value === 'string' ? value : '';
}

function flawed(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `the header ${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}
