import type {
  DocumentKey,
  DocumentPiece,
  DocumentScope,
  DocumentType,
  DocumentWrite,
  Piece,
  StoredDocument,
  WriteResult,
} from '@tidemark/core/ports';
import { nextNumber, raiseNumber } from './facts.ts';
import { missingGuard } from './guards.ts';
import { behind, keyOf, NUMBER_BYTES, textsOf } from './keys.ts';
import { removeRange } from './ranges.ts';
import type { Tables } from './tables.ts';

/** A document as it is kept. `number` stands for its name in the keys of its parts. */
export interface KeptDocument {
  readonly number: number;
  readonly type: DocumentType;
  readonly version: number;
  readonly partCount: number;
  readonly units: number;
}

function scopeParts(scope: DocumentScope): readonly string[] {
  switch (scope.kind) {
    case 'server':
      return ['server'];
    case 'shared':
      return ['shared', scope.source];
    case 'user':
      return ['user', scope.user, scope.source];
    case 'client':
      return ['client', scope.client, scope.source];
  }
}

function keptDocument(tables: Tables, key: DocumentKey): KeptDocument | null {
  const text = tables.documents.get(keyOf(...scopeParts(key.scope), key.name));
  return text === undefined ? null : (JSON.parse(text) as KeptDocument);
}

export function readDocument(tables: Tables, key: DocumentKey, asked?: readonly string[]): StoredDocument | null {
  const kept = keptDocument(tables, key);
  if (kept === null) return null;
  const { type, version, partCount, units } = kept;
  const parts = asked === undefined ? allParts(tables, kept.number) : someParts(tables, kept.number, asked);
  return { type, version, partCount, units, parts };
}

function allParts(tables: Tables, document: number): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const { key, value } of tables.parts.getRange({ start: keyOf(document), end: keyOf(document + 1) })) {
    parts.set(textsOf(key, NUMBER_BYTES)[0] ?? '', value);
  }
  return parts;
}

function someParts(tables: Tables, document: number, asked: readonly string[]): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const name of asked) {
    const text = tables.parts.get(keyOf(document, name));
    if (text !== undefined) parts.set(name, text);
  }
  return parts;
}

export function documentNames(tables: Tables, scope: DocumentScope): readonly string[] {
  const start = keyOf(...scopeParts(scope));
  const end = behind(start);
  const keys = tables.documents.getKeys({ start, ...(end === undefined ? {} : { end }) });
  return [...keys].map((key) => textsOf(key).at(-1) ?? '');
}

// Writing: these run in the writer's transaction

export function applyDocument(tables: Tables, write: DocumentWrite): WriteResult {
  const guard = missingGuard(tables, write.guards);
  if (guard !== null) return { status: 'gone', guard };
  const kept = keptDocument(tables, write.key);
  if (write.expect !== undefined && write.expect !== (kept?.version ?? 0)) return { status: 'conflict' };
  if (!write.replace && kept !== null && kept.type !== write.type) return { status: 'conflict' };
  const number = kept?.number ?? nextNumber(tables, 'document');
  let { partCount, units } = kept ?? { partCount: 0, units: 0 };
  if (write.replace && kept !== null) {
    removeRange(tables.parts, keyOf(number), keyOf(number + 1));
    partCount = 0;
    units = 0;
  }
  for (const [name, text] of write.parts) {
    const before = tables.parts.get(keyOf(number, name));
    tables.parts.put(keyOf(number, name), text);
    partCount += before === undefined ? 1 : 0;
    units += text.length - (before?.length ?? 0);
  }
  const next: KeptDocument = {
    number,
    type: write.type,
    version: nextNumber(tables, 'entry_version'),
    partCount,
    units,
  };
  tables.documents.put(keyOf(...scopeParts(write.key.scope), write.key.name), JSON.stringify(next));
  return { status: 'written' };
}

/** Puts down the head of a document as it is; its parts follow. */
export function importDocument(tables: Tables, { key, type, version, partCount, units }: DocumentPiece): void {
  const kept: KeptDocument = { number: nextNumber(tables, 'document'), type, version, partCount, units };
  raiseNumber(tables, 'entry_version', version);
  tables.documents.put(keyOf(...scopeParts(key.scope), key.name), JSON.stringify(kept));
}

export function importPart(tables: Tables, { key, part, text }: Extract<Piece, { readonly what: 'part' }>): void {
  const kept = keptDocument(tables, key);
  if (kept === null) throw new Error('a part came before its document');
  tables.parts.put(keyOf(kept.number, part), text);
}

/** Removes the documents whose name begins with these parts and passes the test. */
export function removeDocuments(
  tables: Tables,
  prefix: readonly string[],
  test: (name: readonly string[]) => boolean = () => true,
): void {
  const start = keyOf(...prefix);
  const end = behind(start);
  for (const { key, value } of [...tables.documents.getRange({ start, ...(end === undefined ? {} : { end }) })]) {
    if (!test(textsOf(key))) continue;
    const { number } = JSON.parse(value) as KeptDocument;
    removeRange(tables.parts, keyOf(number), keyOf(number + 1));
    tables.documents.remove(key);
  }
}
