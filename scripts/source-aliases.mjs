import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './processes.mjs';

/**
 * Resolves imports of the packages to their sources, for Vite: what `exports` of a manifest names in `dist` is compiled
 * from the file of the same name in `src`. A condition in the manifests would name files that the tarballs do not have.
 */
export function sourceAliases(root = ROOT) {
  return readdirSync(join(root, 'packages')).flatMap((folder) => {
    const manifest = JSON.parse(readFileSync(join(root, 'packages', folder, 'package.json'), 'utf8'));
    return Object.entries(manifest.exports ?? {}).map(([entry, { default: built }]) => {
      const source = built.replace('./dist/', 'src/').replace(/\.js$/, '.ts');
      return {
        find: new RegExp(`^${manifest.name}${entry.slice(1).replace('*', '(.+)')}$`),
        replacement: join(root, 'packages', folder, source.replace('*', '$1')),
      };
    });
  });
}
