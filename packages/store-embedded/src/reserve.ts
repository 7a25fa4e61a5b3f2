import { closeSync, openSync, statSync, writeSync } from 'node:fs';
import { freeBytesAt } from './failure.ts';
import type { Tables } from './tables.ts';
import type { Task } from './tasks.ts';

/** With less free disk than this, and what the reserve itself takes, a reserve is kept. */
export const LOW_DISK_BYTES = 64 * 2 ** 20;
/** The size of the reserve: so much, and this part of the store. To free a page, LMDB writes eight bytes about it. */
const RESERVE_BYTES_MIN = 2 ** 20;
const RESERVE_SHARE = 1 / 32;
/** The part of the reserve that is left alone by what adds data, by the same when pages are free, and by small writes. */
const LEFT_BY_DATA = 1 / 2;
const LEFT_BY_DATA_IN_FREE_PAGES = 1 / 4;
const LEFT_BY_SMALL_WRITES = 1 / 8;
/** What a write takes in pages, at most: so much for its records, and this for the pages above them. */
const PAGES_PER_RECORD_BYTE = 2;
const PAGES_BYTES_MIN = 64 * 1_024;
const ZEROS = Buffer.alloc(256 * 1_024);

/**
 * LMDB never overwrites a page, so deleting takes new pages as well. On a full disk there are none, and nothing could be
 * deleted to make room. So when the disk is nearly full, the file is made longer than LMDB needs: the bytes behind its last
 * page are the reserve, which nobody else on this disk can take, and writes that add data are refused before they use it up.
 */
export class Reserve {
  readonly #file: string;
  readonly #tables: Tables;
  readonly #lowDiskBytes: number;
  #isKept = false;
  #targetBytes = 0;
  #leftBytes = 0;
  /** In pages that the store has and does not use. */
  #freeBytes = 0;

  constructor(file: string, tables: Tables, lowDiskBytes: number) {
    this.#file = file;
    this.#tables = tables;
    this.#lowDiskBytes = lowDiskBytes;
  }

  /** Fills the reserve up, as far as there is room. Runs in the writer's transaction: nobody else writes meanwhile. */
  refill(): void {
    const { size } = statSync(this.#file);
    this.#targetBytes = Math.ceil(RESERVE_BYTES_MIN + size * RESERVE_SHARE);
    this.#isKept = freeBytesAt(this.#file) <= this.#lowDiskBytes + 2 * this.#targetBytes;
    if (!this.#isKept) return;
    const { endBytes, usedBytes } = pagesOf(this.#tables);
    this.#leftBytes = extendFile(this.#file, Math.max(size, endBytes), endBytes + this.#targetBytes) - endBytes;
    this.#freeBytes = endBytes - usedBytes;
  }

  /** Whether the task may be done with what is left. What it may take is no longer there for the next one. */
  admits(task: Task): boolean {
    const kind = this.#isKept ? kindOf(task) : 'frees';
    if (kind === 'frees') return true;
    if (kind === 'notes') return this.#leftBytes >= LEFT_BY_SMALL_WRITES * this.#targetBytes;
    const bytes = PAGES_BYTES_MIN + PAGES_PER_RECORD_BYTE * recordBytesOf(task);
    const isInFreePages = this.#freeBytes >= this.#targetBytes + 2 * bytes;
    if (isInFreePages && this.#leftBytes >= LEFT_BY_DATA_IN_FREE_PAGES * this.#targetBytes) {
      this.#freeBytes -= bytes;
      return true;
    }
    if (this.#leftBytes - bytes < LEFT_BY_DATA * this.#targetBytes) return false;
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

/** The pages that describe an LMDB file. */
const META_PAGES = 2;

/** Where the last page of the store ends, and how many bytes are in pages that hold something. */
function pagesOf({ root, ...tables }: Tables): { readonly endBytes: number; readonly usedBytes: number } {
  const { pageSize, lastPageNumber, root: main, free } = root.getStats() as RootPages;
  let pages = META_PAGES + countOf(main) + countOf(free);
  for (const table of Object.values(tables)) pages += countOf(table.getStats() as Pages);
  return { endBytes: (lastPageNumber + 1) * pageSize, usedBytes: pages * pageSize };
}

function countOf({ treeBranchPageCount, treeLeafPageCount, overflowPages }: Pages): number {
  return treeBranchPageCount + treeLeafPageCount + overflowPages;
}

/** Writes zeros from one place to the other; answers how far the disk took them. */
function extendFile(path: string, from: number, to: number): number {
  if (from >= to) return from;
  const file = openSync(path, 'r+');
  let at = from;
  try {
    while (at < to) at += writeSync(file, ZEROS, 0, Math.min(ZEROS.length, to - at), at);
  } catch {
    // There is no more room.
  } finally {
    closeSync(file);
  }
  return at;
}

/** What a task does to the size of the store. Small writes are those that are bounded for each device, queue or metric. */
function kindOf(task: Task): 'adds' | 'notes' | 'frees' {
  switch (task.kind) {
    case 'commit':
      return task.commit.notes === undefined && task.commit.changes.every(({ record }) => record === null)
        ? 'frees'
        : 'adds';
    case 'jobs':
      return task.task.calls.some((call) => call.do === 'enqueue') ? 'adds' : 'notes';
    case 'entries':
      return task.batch.erase !== undefined || task.batch.writes.every(({ value }) => value === null)
        ? 'frees'
        : 'notes';
    case 'document':
    case 'import':
    case 'life':
      return 'adds';
    case 'tidemark':
    case 'stats':
      return 'notes';
    case 'trim':
    case 'trim_stats':
    case 'reset':
      return 'frees';
  }
}

function recordBytesOf(task: Task): number {
  let bytes = 0;
  if (task.kind === 'commit') for (const { record } of task.commit.changes) bytes += record?.length ?? 0;
  else if (task.kind === 'document') for (const text of task.write.parts.values()) bytes += text.length;
  return bytes;
}
