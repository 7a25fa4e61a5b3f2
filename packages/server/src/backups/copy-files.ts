import { isFileStored, type Store, storedFiles } from '@tidemark/core';
import { type FileEngine, FileFault } from '@tidemark/files';
import { type FileProblem, findProblem } from '../files/verify-file.ts';

/** Files that are copied at the same time: most are small, and wait for the disk. */
const COPIES_AT_ONCE = 4;

interface NamedFile {
  readonly sha256: string;
  readonly size: number;
}

/** A place with files. */
export type CopyableFiles = Pick<FileEngine, 'id' | 'place' | 'stat' | 'read' | 'write' | 'remove'>;

export interface FileCopying {
  /** Knows which files there are. */
  readonly store: Store;
  readonly from: CopyableFiles;
  readonly to: CopyableFiles;
  /** True: files that `to` has are read, and one that is damaged is replaced. Absent: those of the right size count as whole. */
  readonly checksPresent?: boolean;
  /** Called for every file that `from` lacks or has damaged, and `to` does not have. */
  readonly onWrong: (sha256: string, problem: FileProblem) => void;
  /** Called for each file before it is looked at, by hash. */
  readonly onFile?: (file: NamedFile) => Promise<void>;
}

export interface FileCopies {
  readonly files: number;
  readonly bytes: number;
  /** So many of them were not there already. */
  readonly copied: number;
}

/** Copies the stored files that the target does not have. What is copied is hashed: a damaged file never arrives. */
export async function copyFiles(copying: FileCopying): Promise<FileCopies> {
  let [files, bytes, copied] = [0, 0, 0];
  const copyOne = async (file: NamedFile) => {
    const outcome = await copyFile(copying, file);
    if (outcome === 'copied') copied++;
    if (outcome === 'missing' || outcome === 'damaged') copying.onWrong(file.sha256, outcome);
  };
  const running = new Set<Promise<void>>();
  try {
    for await (const file of storedFiles(copying.store)) {
      await copying.onFile?.(file);
      files++;
      bytes += file.size;
      const copy = copyOne(file).finally(() => running.delete(copy));
      copy.catch(() => undefined);
      running.add(copy);
      if (running.size >= COPIES_AT_ONCE) await Promise.race(running);
    }
    await Promise.all(running);
  } finally {
    await Promise.allSettled(running);
  }
  return { files, bytes, copied };
}

async function copyFile(copying: FileCopying, file: NamedFile): Promise<'present' | 'copied' | 'gone' | FileProblem> {
  const { store, from, to, checksPresent = false } = copying;
  if ((await to.stat(file.sha256))?.size === file.size) {
    if (!checksPresent || (await findProblem(to, file.sha256)) === null) return 'present';
    // What is there stays until something better is certain.
    if ((await findProblem(from, file.sha256)) !== null) return 'damaged';
    await to.remove(file.sha256, async () => false);
  }
  const first = await tryCopy(copying, file);
  if (first === 'copied') return first;
  // The collector may have removed it, or has it out of the way for a moment.
  return (await isFileStored(store, file.sha256)) ? tryCopy(copying, file) : 'gone';
}

class OtherBytes extends Error {}

async function tryCopy({ from, to }: FileCopying, { sha256, size }: NamedFile): Promise<'copied' | FileProblem> {
  const admit = async (written: NamedFile) => {
    if (written.sha256 !== sha256) throw new OtherBytes();
  };
  try {
    await to.write(from.read(sha256), { bytesMax: size, admit });
    return 'copied';
  } catch (error) {
    if (error instanceof OtherBytes || (error instanceof FileFault && error.kind === 'too_long')) return 'damaged';
    if (error instanceof FileFault && error.kind === 'no_file') return 'missing';
    throw error;
  }
}
