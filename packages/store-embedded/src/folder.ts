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
import type { Seal } from '@tidemark/core/ports';
import { STORE_FILE } from './tables.ts';

/**
 * What a data folder says of itself, in a file anyone can read. It is looked at before LMDB is: LMDB trusts a file it
 * opens, and a foreign or damaged one can take the whole process down.
 */
export interface FolderMark {
  readonly product: 'tidemark';
  readonly engine: 'embedded';
  readonly format: number;
  /**
   * `new`: being made. `backup`: a copy, which begins a life of its own when it is opened. Sealed by a migration:
   * `incomplete`, `moving` and `moved`, as the port of stores says.
   */
  readonly state: 'new' | 'ready' | 'backup' | Seal['state'];
  /** Where it moves or has moved to, for people. */
  readonly movedTo?: string;
}

/**
 * Why a folder is opened. A source is read by a migration; one that was moved before is read again only on demand. A
 * target is filled by one: it must be empty, unless what a migration has left there may be cleaned away.
 */
export type Opening =
  | { readonly as: 'server' }
  | { readonly as: 'source'; readonly isMovedAllowed: boolean }
  | { readonly as: 'target'; readonly isCleaned: boolean };

/** The only format this version reads and writes. Formats 1 to 3 were written by trial versions. */
export const FORMAT = 4;
const MARK_FILE = 'tidemark.json';

/** A data folder that cannot be used. The message names it; nothing in it was touched. */
export class UnusableFolder extends Error {
  override readonly name = 'UnusableFolder';
}

/** What the folder is; makes and marks it when there is none or it is empty. */
export async function prepareFolder(folder: string, opening: Opening = { as: 'server' }): Promise<FolderMark> {
  if (opening.as === 'target') return prepareTarget(folder, opening.isCleaned);
  if (opening.as === 'source' && !existsSync(join(folder, MARK_FILE))) {
    throw new UnusableFolder(`${folder} is not a Tidemark data folder`);
  }
  // What lies in it is nobody else's business.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const mark = readMark(folder);
  if (mark === null) return claimFolder(folder);
  if (mark.state === 'new') return mark;
  requireOpenable(folder, mark, opening);
  await requireSoundFile(folder);
  return mark;
}

/** What LMDB writes to, beside the mark. */
const STORE_FILES = [STORE_FILE, `${STORE_FILE}-lock`];
const OTHERS = 0o077;

/** Makes sure that nobody but the owner can read what the store writes: LMDB would make files that everybody can read. */
export function closeToOthers(folder: string): void {
  for (const name of STORE_FILES) {
    const path = join(folder, name);
    closeSync(openSync(path, 'a', 0o600));
    try {
      if ((statSync(path).mode & OTHERS) !== 0) chmodSync(path, 0o600);
    } catch {
      // It belongs to somebody else, who lets us use it; the warning says so.
    }
  }
}

/** What an operator should know of who else can read the data. */
export function permissionWarnings(folder: string): readonly string[] {
  const open = [folder, ...STORE_FILES.map((name) => join(folder, name))].filter((path) => {
    const mode = statSync(path, { throwIfNoEntry: false })?.mode ?? 0;
    return process.platform !== 'win32' && (mode & OTHERS) !== 0;
  });
  return open.map((path) => `${path} is open to other users of this machine; run chmod go-rwx ${path}`);
}

function requireOpenable(folder: string, { state, movedTo = 'elsewhere' }: FolderMark, opening: Opening): void {
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

/** Marked before anything is in it: whatever dies later, no server takes it for data. */
function prepareTarget(folder: string, isCleaned: boolean): FolderMark {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const mark = readMark(folder);
  const isLeft = mark?.state === 'incomplete' || mark?.state === 'moved';
  if (mark === null) claimFolder(folder);
  else if (!isLeft) throw new UnusableFolder(`${folder} is not empty; a migration needs a folder of its own`);
  else if (!isCleaned) {
    const what = mark.state === 'moved' ? 'data that was moved away' : 'a migration that was broken off';
    throw new UnusableFolder(`${folder} holds ${what}; add --clean to empty it first`);
  }
  writeMark(folder, 'incomplete');
  for (const name of STORE_FILES) rmSync(join(folder, name), { force: true });
  return { product: 'tidemark', engine: 'embedded', format: FORMAT, state: 'incomplete' };
}

function readMark(folder: string): FolderMark | null {
  const file = join(folder, MARK_FILE);
  if (!existsSync(file)) return null;
  const mark = parseMark(readFileSync(file, 'utf8'));
  if (mark?.product !== 'tidemark' || mark.engine !== 'embedded' || !Number.isInteger(mark.format)) {
    throw new UnusableFolder(`${file} is damaged or not of Tidemark's embedded store; the folder was left untouched`);
  }
  if (mark.format > FORMAT) {
    throw new UnusableFolder(
      `${folder} was written by a newer Tidemark (format ${mark.format}, this version reads format ${FORMAT}); the folder was left untouched`,
    );
  }
  if (mark.format < FORMAT) {
    throw new UnusableFolder(
      `${folder} was written by a trial version of Tidemark (format ${mark.format}, this version reads format ${FORMAT}); start with an empty folder and push the data again, or open it with the version that wrote it; the folder was left untouched`,
    );
  }
  return mark;
}

function parseMark(text: string): FolderMark | null {
  try {
    return JSON.parse(text) as FolderMark | null;
  } catch {
    return null;
  }
}

/** Of several processes that find a new folder at once, all claim it, and none takes the marks of the others for strangers. */
function claimFolder(folder: string): FolderMark {
  const names = readdirSync(folder);
  const marked = names.includes(MARK_FILE) ? readMark(folder) : null;
  if (marked !== null) return marked;
  const strangers = names.filter((name) => !name.startsWith(`${MARK_FILE}.`));
  if (strangers.length > 0) {
    throw new UnusableFolder(
      `${folder} is not a Tidemark data folder (it holds ${strangers.slice(0, 3).join(', ')}); choose an empty one`,
    );
  }
  const mark: FolderMark = { product: 'tidemark', engine: 'embedded', format: FORMAT, state: 'new' };
  writeMark(folder, mark.state);
  return mark;
}

/** What keeps servers from opening the folder, by its mark. */
export function sealOf(folder: string): Seal | null {
  const { state, movedTo: to = '' } = readMark(folder) ?? { state: 'new' };
  if (state === 'incomplete') return { state };
  return state === 'moving' || state === 'moved' ? { state, to } : null;
}

/** Written aside, flushed, then renamed: the mark is never half there. */
export function writeMark(folder: string, state: FolderMark['state'], movedTo?: string): void {
  const more = movedTo === undefined ? {} : { movedTo };
  const mark: FolderMark = { product: 'tidemark', engine: 'embedded', format: FORMAT, state, ...more };
  const aside = join(folder, `${MARK_FILE}.${randomBytes(6).toString('hex')}`);
  const file = openSync(aside, 'w', 0o600);
  writeSync(file, `${JSON.stringify(mark, null, 2)}\n`);
  fsyncSync(file);
  closeSync(file);
  renameSync(aside, join(folder, MARK_FILE));
  flushFolder(folder);
}

export function flushFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  fsyncSync(handle);
  closeSync(handle);
}

// The head of an LMDB file: two pages that each describe the store; the one with the higher transaction is in force.
const META_OFFSET = 24;
const MAGIC = 0xbeefc0de;
const PAGE_SIZE_OFFSET = META_OFFSET + 24;
const LAST_PAGE_OFFSET = META_OFFSET + 120;
const TRANSACTION_OFFSET = META_OFFSET + 128;
const META_BYTES = META_OFFSET + 136;

async function requireSoundFile(folder: string): Promise<void> {
  const path = join(folder, STORE_FILE);
  if (!existsSync(path)) {
    throw new UnusableFolder(`${path} is missing; restore a backup, or choose an empty folder to start anew`);
  }
  const needed = bytesNeeded(path);
  if (needed === null) throw new UnusableFolder(`${path} is damaged: its head is not that of a store`);
  // LMDB may leave unused pages at the end unwritten, so a short file is suspicious rather than wrong: reading all of
  // it in another process tells.
  if (needed.present < needed.expected && !(await survivesReading(path))) {
    throw new UnusableFolder(
      `${path} is damaged: ${needed.present} of ${needed.expected} bytes are there, and it cannot be read to its end`,
    );
  }
}

function bytesNeeded(path: string): { readonly present: number; readonly expected: number } | null {
  const file = openSync(path, 'r');
  try {
    const first = readHead(file, 0);
    const second = first === null ? null : readHead(file, first.pageBytes);
    if (first === null || second === null) return null;
    const { lastPage } = first.transaction > second.transaction ? first : second;
    return { present: fstatSync(file).size, expected: (lastPage + 1) * first.pageBytes };
  } finally {
    closeSync(file);
  }
}

interface Head {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: bigint;
}

function readHead(file: number, at: number): Head | null {
  const bytes = Buffer.alloc(META_BYTES);
  if (readSync(file, bytes, 0, META_BYTES, at) < META_BYTES || bytes.readUInt32LE(META_OFFSET) !== MAGIC) return null;
  return {
    pageBytes: bytes.readUInt32LE(PAGE_SIZE_OFFSET),
    lastPage: Number(bytes.readBigUInt64LE(LAST_PAGE_OFFSET)),
    transaction: bytes.readBigUInt64LE(TRANSACTION_OFFSET),
  };
}

async function survivesReading(path: string): Promise<boolean> {
  const script = fileURLToPath(new URL('../dist/read-through.js', import.meta.url));
  try {
    await promisify(execFile)(process.execPath, [script, path]);
    return true;
  } catch {
    return false;
  }
}
