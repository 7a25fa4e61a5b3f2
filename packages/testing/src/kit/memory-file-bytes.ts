import type { Clock, FileBytes, KeptFile, KeptUpload } from '@tidemark/core';

/** An engine of files that keeps no bytes, only which files and uploads there are. */
export interface MemoryFileBytes extends FileBytes {
  readonly files: Map<string, KeptFile>;
  readonly uploads: Map<string, KeptUpload>;
  /** Files that are out of the way while a removal asks whether they are wanted. */
  readonly aside: Map<string, KeptFile>;
  put(sha256: string, size: number): void;
  /** Called when a file is out of the way, before the removal asks. */
  onAside: (sha256: string) => Promise<void>;
  /** Called when the removal has its answer, before the file is deleted or put back. */
  onAnswer: (sha256: string, isWanted: boolean) => Promise<void>;
}

export function memoryFileBytes(clock: Clock): MemoryFileBytes {
  const files = new Map<string, KeptFile>();
  const aside = new Map<string, KeptFile>();
  const uploads = new Map<string, KeptUpload>();
  const engine: MemoryFileBytes = {
    ...{ files, aside, uploads },
    put: (sha256, size) => void files.set(sha256, { sha256, size, storedMs: clock.nowMs() }),
    onAside: async () => {},
    onAnswer: async () => {},
    remove: async (sha256, isWanted) => {
      const file = files.get(sha256);
      if (file !== undefined) {
        files.delete(sha256);
        aside.set(sha256, file);
      }
      const kept = aside.get(sha256);
      if (kept === undefined) return;
      await engine.onAside(sha256);
      const wanted = await isWanted();
      await engine.onAnswer(sha256, wanted);
      if (wanted && !files.has(sha256)) files.set(sha256, kept);
      aside.delete(sha256);
    },
    unfinishedRemovals: async () => [...aside.keys()],
    list: async ({ after = '', limit }) => sorted(files, after).slice(0, limit),
    listUploads: async ({ after = '', limit }) => sorted(uploads, after).slice(0, limit),
    dropUpload: async (id) => void uploads.delete(id),
  };
  return engine;
}

function sorted<T>(all: ReadonlyMap<string, T>, after: string): readonly T[] {
  const names = [...all.keys()].filter((name) => name > after).sort();
  return names.flatMap((name) => all.get(name) ?? []);
}
