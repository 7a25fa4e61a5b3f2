/** A piece of JSON text. Large pieces are UTF-8 bytes, so that they are encoded once for all devices. */
export type PagePart = string | Uint8Array;

/**
 * A page without its token: the members of its JSON object after `"token":"…",`, and the closing brace. Devices that get
 * the same page differ only in their tokens.
 */
export interface PageBody {
  /** In order. The last part is a string. */
  readonly parts: readonly PagePart[];
  /** The approximate length of the text. */
  readonly units: number;
}

/** Members of the JSON objects `put`, `patch` and `drop`, separated by commas. */
export interface PageChanges {
  readonly puts: string | Uint8Array;
  readonly patches: string;
  readonly drops: string;
}

/** What a page says beside its token. */
export interface PageContent extends PageChanges {
  readonly more: boolean;
  readonly reset: boolean;
  readonly deletes: readonly string[];
  readonly size: number;
  readonly checksum: number;
}

/** Texts of at least this length are kept as bytes. */
const BYTES_UNITS_MIN = 4_096;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Joins the texts of records without parsing them. */
export function renderBody(page: PageContent): PageBody {
  let lead = `"more":${page.more},`;
  if (page.reset) lead += '"reset":true,';
  if (page.deletes.length > 0) lead += `"delete":${JSON.stringify(page.deletes)},`;
  const tail = page.more ? `"size":${page.size}}` : `"size":${page.size},"checksum":${page.checksum}}`;
  if (typeof page.puts !== 'string' && page.puts.length > 0) {
    return bodyOf([asPart(`${lead}"put":{`), page.puts, `},${tail}`]);
  }
  if (page.puts.length > 0) lead += `"put":{${page.puts}},`;
  if (page.drops !== '') lead += `"drop":{${page.drops}},`;
  if (page.patches !== '') lead += `"patch":{${page.patches}},`;
  return bodyOf([asPart(lead), tail]);
}

function asPart(text: string): PagePart {
  return text.length < BYTES_UNITS_MIN ? text : encoder.encode(text);
}

function bodyOf(parts: readonly PagePart[]): PageBody {
  return { parts, units: parts.reduce((units, part) => units + part.length, 0) };
}

/** The body of a page without changes. */
export function emptyBody(size: number, checksum: number): PageBody {
  const text = `"more":false,"size":${size},"checksum":${checksum}}`;
  return { parts: [text], units: text.length };
}

/** Adds a member, given as `"name":value`. */
export function bodyWith({ parts, units }: PageBody, member: string): PageBody {
  const last = parts.at(-1);
  if (typeof last !== 'string') throw new Error('the last part of a page must be a string');
  return { parts: [...parts.slice(0, -1), `${last.slice(0, -1)},${member}}`], units: units + member.length + 1 };
}

/** The same body, of a page with `more`, with another size of the partition. */
export function bodyWithSize({ parts, units }: PageBody, size: number): PageBody {
  const last = parts.at(-1);
  const at = typeof last === 'string' ? last.lastIndexOf('"size":') : -1;
  if (typeof last !== 'string' || at === -1) throw new Error('the last part of a page must tell its size');
  const tail = `${last.slice(0, at)}"size":${size}}`;
  return { parts: [...parts.slice(0, -1), tail], units: units - last.length + tail.length };
}

/** The whole page in pieces of JSON text. */
export function pageParts(token: string, { parts }: PageBody): readonly PagePart[] {
  return [`{"token":"${token}",`, ...parts];
}

/** The whole page as JSON text. */
export function pageJson(token: string, body: PageBody): string {
  return joinParts(pageParts(token, body));
}

export function joinParts(parts: readonly PagePart[]): string {
  return parts.map((part) => (typeof part === 'string' ? part : decoder.decode(part))).join('');
}
