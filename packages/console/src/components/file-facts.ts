import { type FileReference, fileReferencesIn, type ListedFile, readFileReference } from '@tidemark/protocol';
import { bytesText } from './bytes-text.ts';
import { counted } from './counted.ts';

const SHORT_UNITS = 8;
const DAY_MS = 86_400_000;

/** Formats that browsers decode. A drawing as SVG is a document with links and styles, and none of them. */
const PICTURES: ReadonlySet<string> = new Set([
  'image/avif',
  'image/bmp',
  'image/gif',
  'image/jpeg',
  'image/png',
  'image/webp',
]);

/** What people call the file; without a name, the beginning of its hash. */
export function shownFileName({ sha256, name }: { readonly sha256: string; readonly name?: string | null }): string {
  return name ?? `${sha256.slice(0, SHORT_UNITS)}…`;
}

/** Whether the file says of itself that it is a picture that browsers can show. */
export function isPicture(type: string | null): boolean {
  return PICTURES.has((type ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? '');
}

/** Whether the bytes were here, since somebody has sent them, and are gone. */
export function isLost({ is_stored, senders }: Pick<ListedFile, 'is_stored' | 'senders'>): boolean {
  return !is_stored && senders.length > 0;
}

/** Whether something is older than a day. */
export function isOld(at: string, nowMs: number): boolean {
  return nowMs - Date.parse(at) > DAY_MS;
}

/** What a value of an attribute says about files; null: it refers to none, or has other values beside them. */
export function filesOf(value: unknown): readonly FileReference[] | null {
  if (!Array.isArray(value)) {
    const one = readFileReference(value);
    return one === null ? null : [one];
  }
  const files = value.map(readFileReference).filter((file) => file !== null);
  return files.length > 0 && files.length === value.length ? files : null;
}

/** All files that the attributes of an object refer to, each once. */
export function filesInAttributes(attributes: Readonly<Record<string, unknown>>): readonly FileReference[] {
  const files = Object.values(attributes).flatMap((value) => [...fileReferencesIn(value)]);
  return [...new Map(files.map((file) => [file.sha256, file])).values()];
}

/** A cell with files, in words: bow.jpg, 3.1 MB. */
export function filesText(files: readonly FileReference[]): string {
  const [first] = files;
  if (first === undefined) return '';
  const others = files.length === 1 ? bytesText(first.size) : `and ${counted(files.length - 1, 'more file')}`;
  return `${shownFileName(first)}${files.length === 1 ? ', ' : ' '}${others}`;
}
