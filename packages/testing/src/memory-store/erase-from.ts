import type { DocumentScope, Erasure } from '@tidemark/core';
import type { MemoryLife, MemoryNote } from './memory-life.ts';

export function eraseFrom(life: MemoryLife, erasure: Erasure): void {
  const users = new Set<string | null>(erasure.users);
  const sources = new Set(erasure.sources);
  for (const [place, { key }] of life.partitions) {
    if (users.has(key.user) || sources.has(key.source)) life.partitions.delete(place);
  }
  for (const [place, { scope }] of life.documents) {
    if (goes(scope, erasure)) life.documents.delete(place);
  }
  for (const [place, note] of life.notes) if (noteGoes(note, erasure)) life.notes.delete(place);
  for (const { tidemarks } of life.partitions.values()) {
    for (const client of erasure.clients ?? []) tidemarks.delete(client);
  }
}

function noteGoes({ partition, client }: MemoryNote, { users = [], clients = [], sources = [] }: Erasure): boolean {
  const isOfUser = partition.user !== null && users.includes(partition.user);
  return isOfUser || clients.includes(client) || sources.includes(partition.source);
}

function goes(scope: DocumentScope, { users = [], clients = [], sources = [] }: Erasure): boolean {
  if (scope.kind === 'server') return false;
  if (sources.includes(scope.source)) return true;
  if (scope.kind === 'user') return users.includes(scope.user);
  return scope.kind === 'client' && clients.includes(scope.client);
}
