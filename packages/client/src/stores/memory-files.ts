import type { FileDirectory } from '../ports/file-directory.ts';

/** Keeps the bytes of files in memory, for tests and for apps without stored data. */
export function memoryFiles(): FileDirectory {
  const entries = new Map<string, Uint8Array<ArrayBuffer>>();
  return {
    read: async (name) => entries.get(name)?.slice() ?? null,
    write: async (name, bytes) => void entries.set(name, bytes.slice()),
    delete: async (names) => {
      for (const name of names) entries.delete(name);
    },
    list: async () => [...entries.keys()],
  };
}
