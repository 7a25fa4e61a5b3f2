import type { PageParts } from './build-page.ts';
import { tokenText } from './token.ts';

/** The page as JSON text: the texts of the records are joined, never parsed and written again. */
export function renderPage(page: PageParts): string {
  const members = [`"token":"${tokenText(page.token)}"`, `"more":${page.more}`];
  if (page.reset) members.push('"reset":true');
  if (page.deletes.length > 0) members.push(`"delete":${JSON.stringify(page.deletes)}`);
  if (page.puts.length > 0) members.push(`"put":{${page.puts.join(',')}}`);
  if (page.drops.length > 0) members.push(`"drop":{${page.drops.join(',')}}`);
  if (page.patches.length > 0) members.push(`"patch":{${page.patches.join(',')}}`);
  members.push(`"size":${page.size}`);
  if (!page.more) members.push(`"checksum":${page.checksum}`);
  return `{${members.join(',')}}`;
}
