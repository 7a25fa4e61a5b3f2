import type { PageParts } from './build-page.ts';

/** A piece of JSON text: what is large is kept as the UTF-8 it is sent as, so that it is encoded once for all devices. */
export type PagePart = string | Uint8Array;

/**
 * A page without its token: the members of its JSON object behind `"token":"…",`, and the brace that ends it. Two devices
 * that are told the same have tokens of their own, and everything else in common.
 */
export interface PageBody {
  /** One behind the other. The last one is a text. */
  readonly parts: readonly PagePart[];
  /** About how much text that is. */
  readonly units: number;
}

/** From here on a text is kept as bytes. */
const BYTES_UNITS_MIN = 4_096;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The texts of the records are joined, never parsed and written again. */
export function renderBody(page: PageParts): PageBody {
  let lead = `"more":${page.more},`;
  if (page.reset) lead += '"reset":true,';
  if (page.deletes.length > 0) lead += `"delete":${JSON.stringify(page.deletes)},`;
  const tail = page.more ? `"size":${page.size}}` : `"size":${page.size},"checksum":${page.checksum}}`;
  if (typeof page.puts !== 'string' && page.puts.length > 0) {
    return bodyOf([...asParts(`${lead}"put":{`), page.puts, `},${tail}`]);
  }
  if (page.puts.length > 0) lead += `"put":{${page.puts}},`;
  if (page.drops !== '') lead += `"drop":{${page.drops}},`;
  if (page.patches !== '') lead += `"patch":{${page.patches}},`;
  return bodyOf([...asParts(lead), tail]);
}

function asParts(text: string): readonly PagePart[] {
  return [text.length < BYTES_UNITS_MIN ? text : encoder.encode(text)];
}

function bodyOf(parts: readonly PagePart[]): PageBody {
  return { parts, units: parts.reduce((units, part) => units + part.length, 0) };
}

/** The same of a page on which nothing stands. */
export function emptyBody(size: number, checksum: number): PageBody {
  const text = `"more":false,"size":${size},"checksum":${checksum}}`;
  return { parts: [text], units: text.length };
}

/** With another member, as `"name":value`. */
export function bodyWith({ parts, units }: PageBody, member: string): PageBody {
  const last = parts.at(-1);
  if (typeof last !== 'string') throw new Error('a page ends with a text');
  return { parts: [...parts.slice(0, -1), `${last.slice(0, -1)},${member}}`], units: units + member.length + 1 };
}

/** The whole page as JSON text. */
export function pageJson(token: string, { parts }: PageBody): string {
  return `{"token":"${token}",${parts.map((part) => (typeof part === 'string' ? part : decoder.decode(part))).join('')}`;
}
