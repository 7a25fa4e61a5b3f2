import {
  type DocumentKey,
  type DocumentPiece,
  type DocumentScope,
  type DocumentStore,
  type DocumentType,
  type DocumentWrite,
  type Piece,
  type StoredDocument,
  scopeParts,
  type WriteResult,
} from '@tidemark/core/ports';
import { type EngineContext, yieldAfterRead } from './engine-context.ts';
import { missingGuard } from './guards.ts';
import { behind, keyOf, NUMBER_BYTES, textsOf } from './keys.ts';
import { nextNumber, raiseNumber } from './meta.ts';
import { removeRange, type Tables } from './tables.ts';

/** The row of a document. Its number stands for its name in the keys of its parts. */
export interface DocumentRow {
  readonly number: number;
  readonly type: DocumentType;
  readonly version: number;
  readonly partCount: number;
  readonly units: number;
}

export function documents({ read, write }: EngineContext): DocumentStore {
  return {
    async readDocument(key, parts) {
      const document = readDocument(read(), key, parts);
      await yieldAfterRead(document?.parts.size ?? 0);
      return document;
    },

    writeDocument: (documentWrite) => write({ kind: 'document', write: documentWrite }),

    documentNames: async (scope) => documentNames(read(), scope),
  };
}

function readRow(tables: Tables, key: DocumentKey): DocumentRow | null {
  const text = tables.documents.get(keyOf(...scopeParts(key.scope), key.name));
  return text === undefined ? null : (JSON.parse(text) as DocumentRow);
}

function readDocument(tables: Tables, key: DocumentKey, partNames?: readonly string[]): StoredDocument | null {
  const row = readRow(tables, key);
  if (row === null) return null;
  const { type, version, partCount, units } = row;
  const parts = partNames === undefined ? allParts(tables, row.number) : someParts(tables, row.number, partNames);
  return { type, version, partCount, units, parts };
}

function allParts(tables: Tables, document: number): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const { key, value } of tables.parts.getRange({ start: keyOf(document), end: keyOf(document + 1) })) {
    parts.set(textsOf(key, NUMBER_BYTES)[0] ?? '', value);
  }
  return parts;
}

function someParts(tables: Tables, document: number, names: readonly string[]): ReadonlyMap<string, string> {
  const parts = new Map<string, string>();
  for (const name of names) {
    const text = tables.parts.get(keyOf(document, name));
    if (text !== undefined) parts.set(name, text);
  }
  return parts;
}

function documentNames(tables: Tables, scope: DocumentScope): readonly string[] {
  const start = keyOf(...scopeParts(scope));
  const end = behind(start);
  const keys = tables.documents.getKeys({ start, ...(end === undefined ? {} : { end }) });
  return [...keys].map((key) => textsOf(key).at(-1) ?? '');
}

// Writing: these run in the writer's transaction

export function applyDocument(tables: Tables, write: DocumentWrite): WriteResult {
  const guard = missingGuard(tables, write.guards);
  if (guard !== null) return { status: 'gone', guard };
  const row = readRow(tables, write.key);
  if (write.expect !== undefined && write.expect !== (row?.version ?? 0)) return { status: 'conflict' };
  if (!write.replace && row !== null && row.type !== write.type) return { status: 'conflict' };
  const number = row?.number ?? nextNumber(tables, 'document');
  let { partCount, units } = row ?? { partCount: 0, units: 0 };
  if (write.replace && row !== null) {
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
  const next: DocumentRow = {
    number,
    type: write.type,
    version: nextNumber(tables, 'entry_version'),
    partCount,
    units,
  };
  tables.documents.put(keyOf(...scopeParts(write.key.scope), write.key.name), JSON.stringify(next));
  return { status: 'written' };
}

/** Imports the row of a document; its parts follow in later pieces. */
export function importDocument(tables: Tables, { key, type, version, partCount, units }: DocumentPiece): void {
  const row: DocumentRow = { number: nextNumber(tables, 'document'), type, version, partCount, units };
  raiseNumber(tables, 'entry_version', version);
  tables.documents.put(keyOf(...scopeParts(key.scope), key.name), JSON.stringify(row));
}

export function importPart(tables: Tables, { key, part, text }: Extract<Piece, { readonly what: 'part' }>): void {
  const row = readRow(tables, key);
  if (row === null) throw new Error('a part came before its document');
  tables.parts.put(keyOf(row.number, part), text);
}

/** Removes the documents whose name begins with `prefix` and passes the test. */
export function removeDocuments(
  tables: Tables,
  prefix: readonly string[],
  test: (name: readonly string[]) => boolean = () => true,
): void {
  const start = keyOf(...prefix);
  const end = behind(start);
  for (const { key, value } of [...tables.documents.getRange({ start, ...(end === undefined ? {} : { end }) })]) {
    if (!test(textsOf(key))) continue;
    const { number } = JSON.parse(value) as DocumentRow;
    removeRange(tables.parts, keyOf(number), keyOf(number + 1));
    tables.documents.remove(key);
  }
}
