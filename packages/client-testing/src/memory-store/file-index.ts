import type { FileList } from '@tidemark/core';
import type { MemoryPartition } from './memory-data.ts';

export function objectsWithFile({ files }: MemoryPartition, sha256: string, limit: number): string[] {
  const ids = [...files].flatMap(([id, hashes]) => (hashes.includes(sha256) ? [id] : []));
  return ids.slice(0, limit);
}

export function listFiles({ files }: MemoryPartition, { after = '', limit }: FileList): string[] {
  const all = [...new Set([...files.values()].flat())].sort();
  return all.filter((sha256) => sha256 > after).slice(0, limit);
}
