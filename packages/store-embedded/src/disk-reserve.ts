import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { freeBytesAt } from './failure.ts';
import type { Tables } from './tables.ts';
import type { WriterTask } from './tasks.ts';

/** A reserve is kept while the free disk is below this plus twice the reserve. */
export const LOW_DISK_BYTES = 64 * 2 ** 20;
/** The size of the reserve: a minimum plus a share of the store. LMDB writes eight bytes for each page that it frees. */
const RESERVE_BYTES_MIN = 2 ** 20;
const RESERVE_SHARE = 1 / 32;
/** The share of the reserve that must remain after writes that add data, after those that fit into free pages, and after small writes. */
const REMAINS_AFTER_DATA = 1 / 2;
const REMAINS_AFTER_DATA_IN_FREE_PAGES = 1 / 4;
const REMAINS_AFTER_SMALL_WRITES = 1 / 8;
/** The most that a write takes in pages: twice its records, and a minimum for the pages above them. */
const PAGES_PER_RECORD_BYTE = 2;
const PAGES_BYTES_MIN = 64 * 1_024;
const ZEROS = Buffer.alloc(256 * 1_024);

/**
 * Keeps room for deletions on a nearly full disk (docs/decisions/0050). LMDB never overwrites a page, so a deletion needs
 * new pages, and on a full disk nothing could be deleted. The reserve is the end of the store's own file: the file is made
 * longer than LMDB needs, and writes that add data are refused before they use it up.
 */
export class DiskReserve {
  readonly #file: string;
  readonly #tables: Tables;
  readonly #lowDiskBytes: number;
  #isKept = false;
  #targetBytes = 0;
  #leftBytes = 0;
  /** Bytes in free pages of the file. */
  #freeBytes = 0;

  constructor(file: string, tables: Tables, lowDiskBytes: number) {
    this.#file = file;
    this.#tables = tables;
    this.#lowDiskBytes = lowDiskBytes;
  }

  /** Fills the reserve as far as the disk has room. Runs in the writer's transaction, so no other process writes. */
  refill(): void {
    const { size } = statSync(this.#file);
    this.#targetBytes = Math.ceil(RESERVE_BYTES_MIN + size * RESERVE_SHARE);
    this.#isKept = freeBytesAt(this.#file) <= this.#lowDiskBytes + 2 * this.#targetBytes;
    if (!this.#isKept) return;
    const { endBytes, usedBytes } = pagesOf(this.#tables);
    this.#leftBytes = extendFile(this.#file, Math.max(size, endBytes), endBytes + this.#targetBytes) - endBytes;
    this.#freeBytes = endBytes - usedBytes;
  }

  /** Returns whether there is room for the task, and subtracts what it may take. */
  admits(task: WriterTask): boolean {
    const kind = this.#isKept ? kindOf(task) : 'frees';
    if (kind === 'frees') return true;
    if (kind === 'small') return this.#leftBytes >= REMAINS_AFTER_SMALL_WRITES * this.#targetBytes;
    const bytes = PAGES_BYTES_MIN + PAGES_PER_RECORD_BYTE * recordBytesOf(task);
    const isInFreePages = this.#freeBytes >= this.#targetBytes + 2 * bytes;
    if (isInFreePages && this.#leftBytes >= REMAINS_AFTER_DATA_IN_FREE_PAGES * this.#targetBytes) {
      this.#freeBytes -= bytes;
      return true;
    }
    if (this.#leftBytes - bytes < REMAINS_AFTER_DATA * this.#targetBytes) return false;
    this.#leftBytes -= bytes;
    return true;
  }
}

interface Pages {
  readonly pageSize: number;
  readonly treeBranchPageCount: number;
  readonly treeLeafPageCount: number;
  readonly overflowPages: number;
}

type RootPages = Pages & { readonly lastPageNumber: number; readonly root: Pages; readonly free: Pages };

/** The meta pages of an LMDB file. */
const META_PAGES = 2;

/** Returns where the last page of the store ends, and how many bytes its used pages have. */
function pagesOf({ root, ...tables }: Tables): { readonly endBytes: number; readonly usedBytes: number } {
  const { pageSize, lastPageNumber, root: main, free } = root.getStats() as RootPages;
  let pages = META_PAGES + countOf(main) + countOf(free);
  for (const table of Object.values(tables)) pages += countOf(table.getStats() as Pages);
  return { endBytes: (lastPageNumber + 1) * pageSize, usedBytes: pages * pageSize };
}

function countOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: Pages): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}

/** Writes zeros from one position to another. Returns how far the disk had room. */
function extendFile(path: string, from: number, to: number): number {
  if (from >= to) return from;
  const file = openSync(path, 'r+');
  let at = from;
  try {
    while (at < to) at += writeSync(file, ZEROS, 0, Math.min(ZEROS.length, to - at), at);
  } catch {
    // The disk is full.
  } finally {
    closeSync(file);
  }
  return at;
}

/** `adds`: the task adds data. `small`: its data is bounded for each device, queue or metric. `frees`: it removes data. */
function kindOf(task: WriterTask): 'adds' | 'small' | 'frees' {
  switch (task.kind) {
    case 'commit':
      return task.commit.notes === undefined && task.commit.changes.every(({ record }) => record === null)
        ? 'frees'
        : 'adds';
    case 'jobs':
      return task.task.calls.some((call) => call.do === 'enqueue') ? 'adds' : 'small';
    case 'entries':
      return task.batch.erase !== undefined || task.batch.writes.every(({ value }) => value === null)
        ? 'frees'
        : 'small';
    case 'document':
    case 'import':
    case 'head':
      return 'adds';
    case 'tidemark':
    case 'stats':
      return 'small';
    case 'trim':
    case 'trim_stats':
    case 'reset':
      return 'frees';
  }
}

function recordBytesOf(task: WriterTask): number {
  let bytes = 0;
  if (task.kind === 'commit') for (const { record } of task.commit.changes) bytes += record?.length ?? 0;
  else if (task.kind === 'document') for (const text of task.write.parts.values()) bytes += text.length;
  return bytes;
}
