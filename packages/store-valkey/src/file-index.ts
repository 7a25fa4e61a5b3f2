import { type FileIndex, scopeOf } from '@tidemark/core/ports';
import { HASH_UNITS } from './layout.ts';
import type { EngineContext } from './scope-access.ts';
import { fileObjectsScript, filesScript } from './scripts/files.ts';
import { textListOf } from './wire.ts';

export function fileIndex({ scopes }: EngineContext): FileIndex {
  return {
    async objectsWithFile(key, sha256, limit) {
      const values = { sha256, after: '', limit };
      const [, members] = await scopes.read({ scope: scopeOf(key), script: fileObjectsScript, values });
      return textListOf(members).map((member) => member.slice(HASH_UNITS));
    },

    async listFiles(key, { after = '', limit }) {
      const [, files] = await scopes.read({ scope: scopeOf(key), script: filesScript, values: { after, limit } });
      return textListOf(files);
    },
  };
}
