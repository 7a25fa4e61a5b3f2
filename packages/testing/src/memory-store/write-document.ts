import type { DocumentWrite, WriteResult } from '@tidemark/core';
import type { MemoryLife } from './memory-life.ts';
import { missingGuard } from './missing-guard.ts';
import { documentPlace } from './read-document.ts';

export function writeDocument(life: MemoryLife, write: DocumentWrite, newVersion: () => number): WriteResult {
  const guard = missingGuard(life, write.guards);
  if (guard !== null) return { status: 'gone', guard };
  const place = documentPlace(write.key);
  const old = life.documents.get(place);
  if (write.expect !== undefined && write.expect !== (old?.version ?? 0)) return { status: 'conflict' };
  if (!write.replace && old !== undefined && old.type !== write.type) return { status: 'conflict' };
  const kept = write.replace || old === undefined ? [] : old.parts;
  const parts = new Map([...kept, ...write.parts]);
  life.documents.set(place, { ...write.key, type: write.type, version: newVersion(), parts });
  return { status: 'written' };
}
