import type { FileWorkParts } from '../engine/file-work.ts';
import { FILE_CACHE_BYTES_DEFAULT, FILE_USED_EVERY_MS } from '../limits.ts';
import { FILE, type FileRow, fileRow, fileRows, putFileRow } from '../state/file-rows.ts';
import { type FileBodies, writtenBody } from './file-bodies.ts';

/**
 * Files that the server has, too. Beyond the limit those that were used longest ago are deleted, and never one that waits to be sent,
 * nor the one that was used last: it may be larger than the limit, and is being shown.
 */
export class FileCache {
  readonly #parts: FileWorkParts;
  readonly #bodies: FileBodies;
  readonly #isBusy: (sha256: string) => boolean;

  /** A busy file is being fetched. */
  constructor(parts: FileWorkParts, bodies: FileBodies, isBusy: (sha256: string) => boolean) {
    this.#parts = parts;
    this.#bodies = bodies;
    this.#isBusy = isBusy;
  }

  /** The bytes that may still be fetched until others have to leave. */
  get bytesFree(): number {
    const { options } = this.#parts;
    const used = this.#rows().reduce((sum, [, { bytes }]) => sum + bytes, 0);
    return (options.files.cacheBytes ?? FILE_CACHE_BYTES_DEFAULT) - used;
  }

  async trim(): Promise<void> {
    let excess = -this.bytesFree;
    if (excess <= 0) return;
    const rows = this.#rows().sort(([, left], [, right]) => left.usedAtMs - right.usedAtMs);
    const leaving: string[] = [];
    for (const [sha256, { bytes }] of rows.slice(0, -1)) {
      if (excess <= 0) break;
      if (this.#isBusy(sha256)) continue;
      leaving.push(sha256);
      excess -= bytes;
    }
    await this.drop(leaving);
  }

  /** Deletes files that the server has; if a body is named, only one that has it. */
  async drop(files: readonly string[], body?: string): Promise<void> {
    const gone = await this.#parts.data.replica.transact((tx) =>
      files.flatMap((sha256) => {
        const row = fileRow(tx, sha256);
        // It may have been added again meanwhile.
        if (row === undefined || row.waitsSinceMs !== undefined || row.body !== (body ?? row.body)) return [];
        tx.delete('facts', [FILE, sha256]);
        return [writtenBody(row)];
      }),
    );
    await this.#bodies.delete(gone);
  }

  async noteUsed(sha256: string): Promise<void> {
    const { replica, platform } = this.#parts.data;
    const nowMs = platform.nowMs();
    const known = fileRow(replica.reader, sha256);
    if (known === undefined || known.usedAtMs + FILE_USED_EVERY_MS > nowMs) return;
    await replica.transact(
      (tx) => {
        const row = fileRow(tx, sha256);
        if (row !== undefined) putFileRow(tx, sha256, { ...row, usedAtMs: nowMs });
      },
      { isRepeatable: true },
    );
  }

  #rows(): [string, FileRow][] {
    return [...fileRows(this.#parts.data.replica.reader)].filter(([, row]) => row.waitsSinceMs === undefined);
  }
}
