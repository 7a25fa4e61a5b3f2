/** Objects of a bucket, and the beginnings that many of them share. */
export interface ListedKeys {
  readonly objects: readonly ListedObject[];
  /** What keys have in common up to the delimiter. */
  readonly groups: readonly string[];
  readonly isCut: boolean;
}

export interface ListedObject {
  readonly key: string;
  readonly size: number;
  readonly changedMs: number;
}

/** Reads the answer of ListObjectsV2. Keys lose the prefix of the bucket. */
export function readListing(xml: string, prefix: string): ListedKeys {
  const objects = elementsOf(xml, 'Contents').map((one) => ({
    key: keyIn(one, 'Key', prefix),
    size: Number(textOf(one, 'Size')),
    changedMs: Date.parse(textOf(one, 'LastModified')),
  }));
  const groups = elementsOf(xml, 'CommonPrefixes').map((one) => keyIn(one, 'Prefix', prefix));
  return { objects, groups, isCut: textOf(xml, 'IsTruncated') === 'true' };
}

/** Reads the answer of CreateMultipartUpload. */
export function readUploadId(xml: string): string {
  return decoded(textOf(xml, 'UploadId'));
}

function keyIn(xml: string, name: string, prefix: string): string {
  return decoded(textOf(xml, name)).slice(prefix.length);
}

function elementsOf(xml: string, name: string): readonly string[] {
  return [...xml.matchAll(new RegExp(`<${name}>(.*?)</${name}>`, 'gs'))].map(([, content = '']) => content);
}

function textOf(xml: string, name: string): string {
  return elementsOf(xml, name)[0] ?? '';
}

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"', apos: "'" };

function decoded(text: string): string {
  return text.replace(/&(?:#(\d+)|#x([0-9a-f]+)|(\w+));/gi, (whole, decimal?: string, hex?: string, name = '') => {
    if (decimal !== undefined) return String.fromCodePoint(Number(decimal));
    if (hex !== undefined) return String.fromCodePoint(Number.parseInt(hex, 16));
    return ENTITIES[name] ?? whole;
  });
}
