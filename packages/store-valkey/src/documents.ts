import type {
  DocumentKey,
  DocumentScope,
  DocumentType,
  DocumentWrite,
  StoredDocument,
  WriteResult,
} from '@tidemark/core/ports';
import { requireName } from './keys.ts';
import { listArgs } from './lists.ts';
import type { Places } from './places.ts';
import { headedPart, PART_HEADER_BYTES } from './records.ts';
import { bytesOf, textOf } from './reply.ts';
import { documentNamesScript, readDocumentScript, writeDocumentScript } from './scripts/documents.ts';
import type { Reply } from './wire.ts';

export async function readDocument(
  places: Places,
  { scope, name }: DocumentKey,
  asked?: readonly string[],
): Promise<StoredDocument | null> {
  const [kind, header, ...parts] = await places.read({
    place: scope,
    script: readDocumentScript,
    more: (keys) => keys.partsOf(name),
    args: [name, ...(asked === undefined ? ['1'] : ['', ...listArgs(asked)])],
  });
  if (textOf(kind) === 'none') return null;
  const [type, version, partCount, units] = textOf(header).split(' ');
  return {
    type: type as DocumentType,
    version: Number(version),
    partCount: Number(partCount),
    units: Number(units),
    parts: partsOf(parts, asked === undefined),
  };
}

/** A hash has no order, so a whole document is put into that of its keys here. */
function partsOf(reply: readonly Reply[], isWhole: boolean): ReadonlyMap<string, string> {
  const parts: [key: Buffer, text: string][] = [];
  for (let index = 0; index < reply.length; index += 2) {
    parts.push([bytesOf(reply[index]), bytesOf(reply[index + 1]).toString('utf8', PART_HEADER_BYTES)]);
  }
  if (isWhole) parts.sort(([left], [right]) => Buffer.compare(left, right));
  return new Map(parts.map(([key, text]) => [key.toString('utf8'), text]));
}

export async function documentNames(places: Places, scope: DocumentScope): Promise<readonly string[]> {
  const [, ...names] = await places.read({ place: scope, script: documentNamesScript, args: [] });
  const sorted = names.map(bytesOf).sort(Buffer.compare);
  return sorted.map((name) => name.toString('utf8'));
}

export async function writeDocument(places: Places, write: DocumentWrite): Promise<WriteResult> {
  const { key, type, replace, parts, expect, guards } = write;
  for (const name of [key.name, ...parts.keys()]) requireName(name);
  const written = await places.write({
    place: key.scope,
    script: writeDocumentScript,
    more: (keys) => keys.partsOf(key.name),
    guards,
    args: [
      ...[key.name, type, replace ? '1' : '', expect ?? ''],
      ...listArgs([...parts.keys()]),
      ...listArgs([...parts.values()].map(headedPart)),
    ],
  });
  if (written.gone !== null) return { status: 'gone', guard: written.gone };
  return { status: textOf(written.reply[0]) === 'conflict' ? 'conflict' : 'written' };
}
