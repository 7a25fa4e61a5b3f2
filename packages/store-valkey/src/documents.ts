import type { DocumentStore, DocumentType } from '@tidemark/core/ports';
import { requireName } from './keys.ts';
import { headedPart, textOfPart } from './records.ts';
import type { EngineContext } from './scope-access.ts';
import { documentNamesScript, readDocumentScript, writeDocumentScript } from './scripts/documents.ts';
import { bytesOf, pairsOf, type Reply, textOf } from './wire.ts';

export function documents({ scopes }: EngineContext): DocumentStore {
  return {
    async readDocument({ scope, name }, parts) {
      const [kind, header, ...found] = await scopes.read({
        ...{ scope, script: readDocumentScript, extraKey: (keys) => keys.parts(name) },
        values: { name, wantsAll: parts === undefined, keys: parts ?? [] },
      });
      if (textOf(kind) === 'none') return null;
      const [type, version, partCount, units] = textOf(header).split(' ');
      return {
        type: type as DocumentType,
        version: Number(version),
        partCount: Number(partCount),
        units: Number(units),
        parts: partsFrom(found, parts === undefined),
      };
    },

    async documentNames(scope) {
      const [, ...names] = await scopes.read({ scope, script: documentNamesScript, values: {} });
      const sorted = names.map(bytesOf).sort(Buffer.compare);
      return sorted.map((name) => name.toString('utf8'));
    },

    async writeDocument({ key: { scope, name }, type, replace, parts, expect, guards }) {
      for (const part of [name, ...parts.keys()]) requireName(part);
      const written = await scopes.write({
        ...{ scope, guards, script: writeDocumentScript, extraKey: (keys) => keys.parts(name) },
        values: {
          ...{ name, type, replaces: replace, expectedVersion: expect ?? null },
          ...{ keys: [...parts.keys()], parts: [...parts.values()].map(headedPart) },
        },
      });
      if (written.gone !== null) return { status: 'gone', guard: written.gone };
      return { status: textOf(written.reply[0]) === 'conflict' ? 'conflict' : 'written' };
    },
  };
}

/** A hash has no order, so a whole document is sorted by the keys of its parts here. */
function partsFrom(reply: readonly Reply[], isWhole: boolean): ReadonlyMap<string, string> {
  const parts = pairsOf(reply).map(([key, part]) => [bytesOf(key), textOfPart(bytesOf(part))] as const);
  if (isWhole) parts.sort(([left], [right]) => Buffer.compare(left, right));
  return new Map(parts.map(([key, text]) => [key.toString('utf8'), text]));
}
