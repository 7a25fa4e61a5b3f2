import type { PageParts } from './build-page.ts';

/**
 * A page without its token: the members of its JSON object behind `"token":"…",`, and the brace that ends it. Two devices
 * that are told the same have tokens of their own, and everything else in common.
 */
export interface PageBody {
  readonly text: string;
}

/** The texts of the records are joined, never parsed and written again. */
export function renderBody(page: PageParts): PageBody {
  const members = [`"more":${page.more}`];
  if (page.reset) members.push('"reset":true');
  if (page.deletes.length > 0) members.push(`"delete":${JSON.stringify(page.deletes)}`);
  if (page.puts.length > 0) members.push(`"put":{${page.puts.join(',')}}`);
  if (page.drops.length > 0) members.push(`"drop":{${page.drops.join(',')}}`);
  if (page.patches.length > 0) members.push(`"patch":{${page.patches.join(',')}}`);
  members.push(`"size":${page.size}`);
  if (!page.more) members.push(`"checksum":${page.checksum}`);
  return { text: `${members.join(',')}}` };
}

/** The same of a page on which nothing stands. */
export function emptyBody(size: number, checksum: number): PageBody {
  return { text: `"more":false,"size":${size},"checksum":${checksum}}` };
}

/** The whole page as JSON text. */
export function pageJson(token: string, { text }: PageBody): string {
  return `{"token":"${token}",${text}`;
}
