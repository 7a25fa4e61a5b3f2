import type { DocumentKey, DocumentScope } from '@tidemark/core';
import { POPULATED_SCOPES } from '../../contracts/store/populate-store.ts';
import type { BrokenStore } from './broken-store.ts';

export const brokenDocuments: readonly BrokenStore[] = [
  {
    flaw: 'keeps the map it was given instead of a copy',
    caughtBy: 'STORE-5',
    breaks: (store) => {
      let given: ReadonlyMap<string, string> = new Map();
      return {
        writeDocument: (write) => {
          given = write.parts;
          return store.writeDocument(write);
        },
        readDocument: async (key, parts) => {
          const document = await store.readDocument(key, parts);
          return document === null ? null : { ...document, parts: given };
        },
      };
    },
  },
  {
    flaw: 'ignores the guards of a document',
    caughtBy: 'STORE-19',
    breaks: (store) => ({ writeDocument: (write) => store.writeDocument({ ...write, guards: [] }) }),
  },
  {
    flaw: 'returns all parts whichever are requested',
    caughtBy: 'STORE-32',
    breaks: (store) => ({ readDocument: (key) => store.readDocument(key) }),
  },
  {
    flaw: 'orders parts by UTF-16 units',
    caughtBy: 'STORE-33',
    breaks: (store) => ({
      readDocument: async (key, parts) => {
        const document = await store.readDocument(key, parts);
        return document === null ? null : { ...document, parts: new Map([...document.parts].sort()) };
      },
    }),
  },
  {
    flaw: 'adds where it should replace',
    caughtBy: 'STORE-34',
    breaks: (store) => ({ writeDocument: (write) => store.writeDocument({ ...write, replace: false }) }),
  },
  {
    flaw: 'replaces where it should add',
    caughtBy: 'STORE-34',
    breaks: (store) => ({ writeDocument: (write) => store.writeDocument({ ...write, replace: true }) }),
  },
  {
    flaw: 'counts only the units that it returns',
    caughtBy: 'STORE-35',
    breaks: (store) => ({
      readDocument: async (key, parts) => {
        const document = await store.readDocument(key, parts);
        return document === null ? null : { ...document, units: [...document.parts.values()].join('').length };
      },
    }),
  },
  {
    flaw: 'ignores the expected version of a document',
    caughtBy: 'STORE-36',
    breaks: (store) => ({
      writeDocument: ({ key, type, replace, parts, guards }) => {
        return store.writeDocument({ key, type, replace, parts, guards });
      },
    }),
  },
  {
    flaw: 'gives every document the same version',
    caughtBy: 'STORE-36',
    breaks: (store) => ({
      readDocument: async (key, parts) => {
        const document = await store.readDocument(key, parts);
        return document === null ? null : { ...document, version: 1 };
      },
    }),
  },
  {
    flaw: 'sorts names by UTF-16 units',
    caughtBy: 'STORE-37',
    breaks: (store) => ({ documentNames: async (scope) => [...(await store.documentNames(scope))].sort() }),
  },
  {
    flaw: 'keeps the documents of a client with those of the user of the same name',
    caughtBy: 'STORE-37',
    breaks: (store) => {
      const mixed = (scope: DocumentScope): DocumentScope => {
        return scope.kind === 'client' ? { kind: 'user', source: scope.source, user: scope.client } : scope;
      };
      const mixedKey = ({ scope, name }: DocumentKey) => ({ scope: mixed(scope), name });
      return {
        documentNames: (scope) => store.documentNames(mixed(scope)),
        readDocument: (key, parts) => store.readDocument(mixedKey(key), parts),
        writeDocument: (write) => store.writeDocument({ ...write, key: mixedKey(write.key) }),
      };
    },
  },
  {
    flaw: 'keeps the documents of an erased user',
    caughtBy: 'STORE-44',
    breaks: (store) => ({
      writeEntries: async (batch) => {
        const keys = POPULATED_SCOPES.filter(({ kind }) => kind === 'user').map((scope) => ({ scope, name: 'note' }));
        const kept = await Promise.all(keys.map(async (key) => ({ key, document: await store.readDocument(key) })));
        const result = await store.writeEntries(batch);
        for (const { key, document } of kept) {
          if (document !== null) await store.writeDocument({ ...document, key, replace: true, guards: [] });
        }
        return result;
      },
    }),
  },
];
