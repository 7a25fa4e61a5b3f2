import type { DocumentKey, DocumentScope, StoredDocument } from '@tidemark/core';
import { compareUtf8 } from './compare-tuples.ts';
import type { MemoryLife } from './memory-life.ts';
import { tupleKey } from './tuple-key.ts';

export function readDocument(life: MemoryLife, key: DocumentKey, wanted?: readonly string[]): StoredDocument | null {
  const document = life.documents.get(documentPlace(key));
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

export function documentPlace({ scope, name }: DocumentKey): string {
  return tupleKey(...scopeTuple(scope), name);
}

/** The same number of parts for every kind of scope, so that no name can be taken for a part of a scope. */
export function scopeTuple(scope: DocumentScope): readonly [string, string | null, string | null] {
  switch (scope.kind) {
    case 'server':
      return ['server', null, null];
    case 'shared':
      return ['shared', scope.source, null];
    case 'user':
      return ['user', scope.source, scope.user];
    case 'client':
      return ['client', scope.source, scope.client];
  }
}
