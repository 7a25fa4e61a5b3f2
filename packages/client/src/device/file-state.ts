import type { PartialError } from '@tidemark/protocol';
import type { FileProgress } from '../engine/file-work.ts';
import type { FileRow } from '../state/file-rows.ts';

/**
 * Where a file is: `local`, on this device only; `uploading` and `downloading`, with the part from 0 to 1 that has arrived; `uploaded`,
 * on this device and at the server; `missing`, not on this device; `failed`, and why.
 */
export type FileState =
  | { readonly status: 'local' | 'uploaded' | 'missing' }
  | { readonly status: 'uploading' | 'downloading'; readonly part: number }
  | { readonly status: 'failed'; readonly error: PartialError };

export function fileState(row: FileRow | undefined, progress: FileProgress | undefined): FileState {
  const isHere = row !== undefined && row.bytes === row.size;
  // That a file could not be fetched does not matter any more when the app has added it itself.
  if (progress !== undefined && !(isHere && progress.kind === 'failed')) {
    const { kind } = progress;
    if (kind !== 'failed') return { status: kind, part: progress.part };
    return { status: kind, error: { code: progress.code, detail: progress.detail } };
  }
  if (row?.error !== undefined) return { status: 'failed', error: row.error };
  if (row?.waitsSinceMs !== undefined) return { status: 'local' };
  return { status: isHere ? 'uploaded' : 'missing' };
}
