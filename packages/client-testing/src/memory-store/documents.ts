import type { DocumentKey, DocumentScope, DocumentWrite, StoredDocument, WriteResult } from '@tidemark/core';
import { missingGuard } from './entries.ts';
import type { MemoryData } from './memory-data.ts';
import { compareUtf8, tupleKey } from './tuples.ts';

export function readDocument(data: MemoryData, key: DocumentKey, wanted?: readonly string[]): StoredDocument | null {
  const document = data.documents.get(documentMapKey(key));
  if (document === undefined) return null;
  const { type, version, parts } = document;
  const only = wanted === undefined ? null : new Set(wanted);
  const given = [...parts].filter(([part]) => only === null || only.has(part));
  return {
    type,
    version,
    partCount: parts.size,
    units: [...parts.values()].reduce((units, text) => units + text.length, 0),
    parts: new Map(given.sort(([left], [right]) => compareUtf8(left, right))),
  };
}

export function documentMapKey({ scope, name }: DocumentKey): string {
  return tupleKey(...scopeTuple(scope), name);
}

/** Returns the same number of parts for every kind of scope, so that a name cannot be taken for a part of a scope. */
export function scopeTuple(scope: DocumentScope): readonly [string, string | null, string | null] {
  switch (scope.kind) {
    case 'server':
      return ['server', null, null];
    case 'shared':
      return ['shared', scope.source, null];
    case 'user':
      return ['user', scope.source, scope.user];
    case 'group':
      return ['group', scope.source, scope.group];
    case 'client':
      return ['client', scope.source, scope.client];
  }
}

export function writeDocument(data: MemoryData, write: DocumentWrite, newVersion: () => number): WriteResult {
  const guard = missingGuard(data, write.guards);
  if (guard !== null) return { status: 'gone', guard };
  const mapKey = documentMapKey(write.key);
  const old = data.documents.get(mapKey);
  if (write.expect !== undefined && write.expect !== (old?.version ?? 0)) return { status: 'conflict' };
  if (!write.replace && old !== undefined && old.type !== write.type) return { status: 'conflict' };
  const kept = write.replace || old === undefined ? [] : old.parts;
  const parts = new Map([...kept, ...write.parts]);
  data.documents.set(mapKey, { ...write.key, type: write.type, version: newVersion(), parts });
  return { status: 'written' };
}
