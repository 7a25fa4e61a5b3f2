import { readFileSync } from 'node:fs';
import { parseJson } from '@tidemark/protocol';

/**
 * Returns the version of this package, which is the version of the product. `package.json` is beside both `src` and
 * `dist`.
 */
export function readVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = parseJson(text) as { readonly version: string };
  return version;
}
