/** The bytes of a chunk that is read at once. */
export const CHUNK_BYTES = 262_144;

/** What is known of an upload when it begins. */
export interface UploadStart {
  /** The hash that all bytes together must have, as 64 lower-case hex digits. */
  readonly sha256: string;
  readonly size: number;
}

/** An upload that has not become a file yet. */
export interface FileUpload extends UploadStart {
  readonly id: string;
  /** So many bytes from the beginning are durable. */
  readonly offset: number;
  /** When the last bytes arrived. */
  readonly changedMs: number;
}

/** What the bytes of one `append` must hash to. */
export interface Checksum {
  readonly algorithm: 'sha1' | 'sha256';
  readonly digest: Uint8Array;
}

export interface Appended {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly checksum?: Checksum | undefined;
}

/** What bytes must be to become a file. */
export interface WriteAdmission {
  /** More bytes are refused with `too_long`. */
  readonly bytesMax: number;
  /** Called when all bytes are durable, before they are a file. What it throws is thrown again, and nothing stays. */
  readonly admit: (written: UploadStart) => Promise<void>;
}

/** The first and the last byte of a part, both included. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export interface StoredFile {
  readonly sha256: string;
  readonly size: number;
  readonly storedMs: number;
}

/** What whoever follows a link to a file gets beside the bytes. */
export interface LinkedFile {
  readonly expiresS: number;
  readonly type: string;
  readonly disposition: string;
  readonly caching: string;
}

export interface ListPosition {
  /** The last name of the page before. */
  readonly after?: string | undefined;
  readonly limit: number;
}

/**
 * Keeps the bytes of files, each named by its SHA-256. A file is complete or absent. The id of an upload is its owner, a
 * dot and a name, both of hex digits; uploads are listed by owner. Several processes may use the same engine: whatever
 * they do at once, a file never holds other bytes than those that its name says.
 */
export interface FileEngine {
  /** Differs between two places where files are kept, and never changes for one of them. */
  readonly id: string;
  /** Where files are kept, for people. */
  readonly place: string;
  /** Begins an upload, or leaves the one with the same id, hash and size as it is. One with another size is dropped. */
  createUpload(id: string, start: UploadStart): Promise<FileUpload>;
  /** Returns the upload, or null. What its offset counts is durable. */
  findUpload(id: string): Promise<FileUpload | null>;
  /**
   * Appends at the offset, and returns the new one when everything it counts is durable. When the chunks end with an error,
   * those before it are kept, unless there is a checksum; the error is thrown again.
   */
  append(id: string, offset: number, appended: Appended): Promise<number>;
  /**
   * Makes a file of an upload whose bytes are complete, if all of them together have its hash. Otherwise the upload is
   * dropped. The upload of a file that is stored stays until `dropUpload`, so that this can be repeated.
   */
  finish(id: string): Promise<'stored' | 'mismatch'>;
  dropUpload(id: string): Promise<void>;
  /** Lists uploads by id; `owner` leaves out those of others. */
  listUploads(position: ListPosition & { readonly owner?: string | undefined }): Promise<readonly FileUpload[]>;
  /**
   * Stores bytes whose hash is known only at their end. What a process does not finish is listed as an upload, to be
   * dropped like one that has expired.
   */
  write(chunks: AsyncIterable<Uint8Array>, admission: WriteAdmission): Promise<StoredFile>;
  /** Returns null when the file is not stored. */
  stat(sha256: string): Promise<StoredFile | null>;
  /** Reads a file, or a part of it. Refuses with `no_file` when it is not stored. */
  read(sha256: string, range?: ByteRange): AsyncIterable<Uint8Array>;
  /** Returns a URL by which anybody may read a file for a while without asking us; null: there is none. */
  link(sha256: string, file: LinkedFile): Promise<string | null>;
  /**
   * Removes a file unless it is wanted. It asks when the file is out of the way already, so that a file which is stored
   * and wanted at the same moment is put back or stored again, but never lost.
   */
  remove(sha256: string, isWanted: () => Promise<boolean>): Promise<void>;
  /** Returns hashes of files whose removal a process did not finish; `remove` finishes it. */
  unfinishedRemovals(): Promise<readonly string[]>;
  /** Lists files by their hash. */
  list(position: ListPosition): Promise<readonly StoredFile[]>;
  close(): Promise<void>;
}

/** Why an engine did not do what it was asked to. */
export type FileFaultKind =
  | 'no_upload'
  | 'no_file'
  | 'wrong_offset'
  | 'wrong_checksum'
  | 'too_long'
  | 'full'
  | 'unavailable';

/** An expected failure of an engine. Bugs throw other errors. */
export class FileFault extends Error {
  override readonly name = 'FileFault';
  readonly kind: FileFaultKind;

  constructor(kind: FileFaultKind, detail: string, options?: ErrorOptions) {
    super(detail, options);
    this.kind = kind;
  }
}

const UPLOAD_ID = /^([0-9a-f]{8,64})\.([0-9a-f]{8,128})$/;
const SHA256 = /^[0-9a-f]{64}$/;

/** Splits the id of an upload. Everything that becomes part of a path or key goes through here or `requireSha256`. */
export function splitUploadId(id: string): { readonly owner: string; readonly name: string } {
  const [, owner, name] = UPLOAD_ID.exec(id) ?? [];
  if (owner === undefined || name === undefined) throw new Error(`${JSON.stringify(id)} is not the id of an upload`);
  return { owner, name };
}

/** Owns what `write` has not finished. */
const WRITER = '00000000';

/** Returns the id under which a write is listed until it has ended; `name` is of hex digits. */
export function writeId(name: string): string {
  return `${WRITER}.${name}`;
}

/** What a write announces: its hash is not known. */
export function unknownStart(bytesMax: number): UploadStart {
  return { sha256: '0'.repeat(64), size: bytesMax };
}

export function isSha256(text: string): boolean {
  return SHA256.test(text);
}

export function requireSha256(text: string): string {
  if (!isSha256(text)) throw new Error(`${JSON.stringify(text)} is not a SHA-256 of 64 lower-case hex digits`);
  return text;
}
