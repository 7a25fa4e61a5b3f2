import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { MigrationState } from '@tidemark/core/ports';
import { STORE_FILE } from './tables.ts';

/**
 * The manifest of a data folder, `tidemark.json`. It is read before LMDB opens the store: LMDB trusts its file, and a
 * foreign or damaged one can crash the process.
 */
export interface Manifest {
  readonly product: 'tidemark';
  readonly engine: 'embedded';
  readonly format: number;
  /**
   * `new`: being created. `backup`: a copy, which gets an epoch of its own when it is opened. A migration sets
   * `incomplete`, `moving` and `moved` (see `MigrationState`).
   */
  readonly state: 'new' | 'ready' | 'backup' | MigrationState['state'];
  /** Where the data is moved to, for messages. */
  readonly movedTo?: string;
}

/**
 * Why a folder is opened: by a server, as the source of a migration, or as its target. `isMovedAllowed`: the source may
 * have been moved before. `isCleaned`: the rest of an earlier migration is removed from the target, which must otherwise
 * be empty.
 */
export type Opening =
  | { readonly as: 'server' }
  | { readonly as: 'source'; readonly isMovedAllowed: boolean }
  | { readonly as: 'target'; readonly isCleaned: boolean };

/** The format that this version writes. Formats 1 to 3 were written by trial versions. */
export const FORMAT = 5;
/** A folder of this format or a later one is converted when it is opened (`convert-tidemarks.ts`). */
const OLDEST_FORMAT = 4;
const MANIFEST_FILE = 'tidemark.json';

/** Thrown for a data folder that cannot be opened. The message names the folder, which is left untouched. */
export class UnusableFolder extends Error {
  override readonly name = 'UnusableFolder';
}

/** Returns the manifest of a folder that can be opened. Creates the folder when it does not exist. */
export async function prepareFolder(folder: string, opening: Opening = { as: 'server' }): Promise<Manifest> {
  if (opening.as === 'target') return prepareTarget(folder, opening.isCleaned);
  if (opening.as === 'source' && !existsSync(join(folder, MANIFEST_FILE))) {
    throw new UnusableFolder(`${folder} is not a Tidemark data folder`);
  }
  createFolder(folder);
  const manifest = readManifest(folder);
  if (manifest === null) return claimFolder(folder);
  if (manifest.state === 'new') return manifest;
  requireOpenable(folder, manifest, opening);
  await requireReadableFile(folder);
  // The format is written before anything is converted, so that no earlier version opens a folder that is half converted.
  if (manifest.format < FORMAT) writeManifest(folder, manifest.state, manifest.movedTo);
  return manifest;
}

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST')
      throw new UnusableFolder(`${folder} is a file; the data needs a folder: choose another path`);
    if (code === 'ENOTDIR')
      throw new UnusableFolder(`${folder} lies below a file; the data needs a folder: choose another path`);
    throw error;
  }
}

/** The files of LMDB. */
const STORE_FILES = [STORE_FILE, `${STORE_FILE}-lock`];
const OTHERS_MODE = 0o077;

/** Creates LMDB's files for the owner alone. LMDB itself would create files that everybody can read. */
export function restrictToOwner(folder: string): void {
  for (const name of STORE_FILES) {
    const path = join(folder, name);
    closeSync(openSync(path, 'a', 0o600));
    try {
      if ((statSync(path).mode & OTHERS_MODE) !== 0) chmodSync(path, 0o600);
    } catch {
      // The file belongs to another user; `permissionWarnings` reports it.
    }
  }
}

/** Returns a warning for each path that other users of the machine can read. */
export function permissionWarnings(folder: string): readonly string[] {
  const readable = [folder, ...STORE_FILES.map((name) => join(folder, name))].filter((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    return process.platform !== 'win32' && (mode & OTHERS_MODE) !== 0;
  });
  return readable.map((path) => `${path} is open to other users of this machine; run chmod go-rwx ${path}`);
}

function requireOpenable(folder: string, { state, movedTo = 'elsewhere' }: Manifest, opening: Opening): void {
  if (state === 'incomplete') {
    throw new UnusableFolder(
      `${folder} holds a migration that was broken off; run tidemark migrate again with --clean, or choose another folder`,
    );
  }
  if (state === 'moving' && opening.as === 'server') {
    throw new UnusableFolder(
      `${folder} was being moved to ${movedTo}; run that tidemark migrate again with --clean, or stay with tidemark migrate --release ${folder}`,
    );
  }
  if (state === 'moved' && !(opening.as === 'source' && opening.isMovedAllowed)) {
    throw new UnusableFolder(`the data of ${folder} was moved to ${movedTo}, and has gone on there`);
  }
  if (state === 'backup' && opening.as === 'source') {
    throw new UnusableFolder(`${folder} is a backup; restore it into a data folder first`);
  }
}

/** Marks the folder as incomplete before anything is written, so that no server opens it after a crash. */
function prepareTarget(folder: string, isCleaned: boolean): Manifest {
  createFolder(folder);
  const manifest = readManifest(folder);
  const isLeft = manifest?.state === 'incomplete' || manifest?.state === 'moved';
  if (manifest === null) claimFolder(folder);
  else if (!isLeft) throw new UnusableFolder(`${folder} is not empty; a migration needs a folder of its own`);
  else if (!isCleaned) {
    const what = manifest.state === 'moved' ? 'data that was moved away' : 'a migration that was broken off';
    throw new UnusableFolder(`${folder} holds ${what}; add --clean to empty it first`);
  }
  writeManifest(folder, 'incomplete');
  for (const name of STORE_FILES) rmSync(join(folder, name), { force: true });
  return { product: 'tidemark', engine: 'embedded', format: FORMAT, state: 'incomplete' };
}

function readManifest(folder: string): Manifest | null {
  const file = join(folder, MANIFEST_FILE);
  if (!existsSync(file)) return null;
  const manifest = parseManifest(readFileSync(file, 'utf8'));
  if (manifest?.product !== 'tidemark' || manifest.engine !== 'embedded' || !Number.isInteger(manifest.format)) {
    throw new UnusableFolder(`${file} is damaged or not of Tidemark's embedded store; the folder was left untouched`);
  }
  if (manifest.format > FORMAT) {
    throw new UnusableFolder(
      `${folder} was written by a newer Tidemark (format ${manifest.format}, this version reads format ${FORMAT}); the folder was left untouched`,
    );
  }
  if (manifest.format < OLDEST_FORMAT) {
    throw new UnusableFolder(
      `${folder} was written by a trial version of Tidemark (format ${manifest.format}, this version reads format ${FORMAT}); start with an empty folder and push the data again, or open it with the version that wrote it; the folder was left untouched`,
    );
  }
  return manifest;
}

function parseManifest(text: string): Manifest | null {
  try {
    return JSON.parse(text) as Manifest | null;
  } catch {
    return null;
  }
}

/** Writes the first manifest of an empty folder. Several processes may do so at once: unfinished manifests are ignored. */
function claimFolder(folder: string): Manifest {
  const names = readdirSync(folder);
  const existing = names.includes(MANIFEST_FILE) ? readManifest(folder) : null;
  if (existing !== null) return existing;
  const foreign = names.filter((name) => !name.startsWith(`${MANIFEST_FILE}.`));
  if (foreign.length > 0) {
    throw new UnusableFolder(
      `${folder} is not a Tidemark data folder (it holds ${foreign.slice(0, 3).join(', ')}); choose an empty one`,
    );
  }
  const manifest: Manifest = { product: 'tidemark', engine: 'embedded', format: FORMAT, state: 'new' };
  writeManifest(folder, manifest.state);
  return manifest;
}

/** Returns what keeps servers from opening the folder. */
export function migrationStateOf(folder: string): MigrationState | null {
  const { state, movedTo: to = '' } = readManifest(folder) ?? { state: 'new' };
  if (state === 'incomplete') return { state };
  return state === 'moving' || state === 'moved' ? { state, to } : null;
}

/** Writes a temporary file, flushes and renames it, so that a crash never leaves half a manifest. */
export function writeManifest(folder: string, state: Manifest['state'], movedTo?: string): void {
  const more = movedTo === undefined ? {} : { movedTo };
  const manifest: Manifest = { product: 'tidemark', engine: 'embedded', format: FORMAT, state, ...more };
  const temporary = join(folder, `${MANIFEST_FILE}.${randomBytes(6).toString('hex')}`);
  const file = openSync(temporary, 'w', 0o600);
  writeSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(temporary, join(folder, MANIFEST_FILE));
  flushFolder(folder);
}

export function flushFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

// An LMDB file begins with two meta pages. The one with the higher transaction number is valid.
const META_OFFSET = 24;
const MAGIC = 0xbeefc0de;
const PAGE_SIZE_OFFSET = META_OFFSET + 24;
const LAST_PAGE_OFFSET = META_OFFSET + 120;
const TRANSACTION_OFFSET = META_OFFSET + 128;
const META_BYTES = META_OFFSET + 136;

async function requireReadableFile(folder: string): Promise<void> {
  const path = join(folder, STORE_FILE);
  if (!existsSync(path)) {
    throw new UnusableFolder(`${path} is missing; restore a backup, or choose an empty folder to start anew`);
  }
  const sizes = fileSizes(path);
  if (sizes === null) throw new UnusableFolder(`${path} is damaged: it does not begin like a store`);
  // LMDB may leave unused pages at the end unwritten, so a short file may be sound. Another process tries to read it all.
  if (sizes.present < sizes.expected && !(await canBeRead(path))) {
    throw new UnusableFolder(
      `${path} is damaged: ${sizes.present} of ${sizes.expected} bytes are there, and it cannot be read to its end`,
    );
  }
}

function fileSizes(path: string): { readonly present: number; readonly expected: number } | null {
  const file = openSync(path, 'r');
  try {
    const first = readMetaPage(file, 0);
    const second = first === null ? null : readMetaPage(file, first.pageBytes);
    if (first === null || second === null) return null;
    const { lastPage } = first.transaction > second.transaction ? first : second;
    return { present: fstatSync(file).size, expected: (lastPage + 1) * first.pageBytes };
  } finally {
    closeSync(file);
  }
}

interface MetaPage {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: bigint;
}

function readMetaPage(file: number, at: number): MetaPage | null {
  const bytes = Buffer.alloc(META_BYTES);
  if (readSync(file, bytes, 0, META_BYTES, at) < META_BYTES || bytes.readUInt32LE(META_OFFSET) !== MAGIC) return null;
  return {
    pageBytes: bytes.readUInt32LE(PAGE_SIZE_OFFSET),
    lastPage: Number(bytes.readBigUInt64LE(LAST_PAGE_OFFSET)),
    transaction: bytes.readBigUInt64LE(TRANSACTION_OFFSET),
  };
}

async function canBeRead(path: string): Promise<boolean> {
  const script = fileURLToPath(new URL('../dist/read-all.js', import.meta.url));
  try {
    await promisify(execFile)(process.execPath, [script, path]);
    return true;
  } catch {
    return false;
  }
}
