import { parseJson } from './json/parse-json.ts';
import { FILE_NAME_BYTES_MAX, FILE_TYPE_BYTES_MAX } from './limits.ts';
import { characterProblem, utf8Bytes } from './names.ts';

/** A file as the value of an attribute names it: by its content. A type and not an interface, which would be no `JsonValue`. */
export type FileReference = {
  /** The SHA-256 of the bytes, as 64 lower-case hexadecimal digits. */
  readonly sha256: string;
  /** In bytes. */
  readonly size: number;
  /** A media type such as `image/jpeg`. */
  readonly type: string;
  /** What people call the file. Absent: it has no name. */
  readonly name?: string;
};

/** The value of an attribute, or a part of one, that refers to a file. */
export type FileValue = {
  readonly [FILE_KEY]: FileReference;
};

export const FILE_KEY = '$file';

/** Occurs in the canonical text of every value that refers to a file, and in hardly any other. */
const FILE_MARK = `"${FILE_KEY}":`;

/** Whether a canonical JSON text may refer to files. Most do not, and this costs next to nothing. */
export function mayHaveFiles(text: string): boolean {
  return text.includes(FILE_MARK);
}

/** Where a value breaks the form of a reference, and how. */
export interface FileFlaw {
  /** Keys and indexes that lead from the value to the wrong part. */
  readonly path: readonly (string | number)[];
  readonly detail: string;
}

/** Returns the reference that a value is. Null: it is another value, or a reference that is not well formed. */
export function readFileReference(value: unknown): FileReference | null {
  return isFileReference(value) ? value[FILE_KEY] : null;
}

/** Whether a value is a well-formed reference. */
export function isFileReference(value: unknown): value is FileValue {
  return isPlainObject(value) && Object.hasOwn(value, FILE_KEY) && flawOf(value) === null;
}

/** Returns all well-formed references in a value, also those inside of lists and objects. */
export function* fileReferencesIn(value: unknown): Generator<FileReference> {
  if (Array.isArray(value)) {
    for (const item of value) yield* fileReferencesIn(item);
  } else if (isPlainObject(value)) {
    const reference = readFileReference(value);
    if (reference !== null) yield reference;
    else for (const member of Object.values(value)) yield* fileReferencesIn(member);
  }
}

const NO_REFERENCES: readonly FileReference[] = [];

/** Returns the references of an object, given its attributes as canonical JSON text. A file may occur several times. */
export function fileReferencesInText(attributes: string): readonly FileReference[] {
  if (!mayHaveFiles(attributes)) return NO_REFERENCES;
  // An attribute may be called `$file`: only values refer to files.
  const values = Object.values(parseJson(attributes) as Readonly<Record<string, unknown>>);
  return values.flatMap((value) => [...fileReferencesIn(value)]);
}

/** Returns the first thing in a value that has the key `$file` and is not a well-formed reference; null: there is none. */
export function fileFlawIn(value: unknown): FileFlaw | null {
  if (!Array.isArray(value) && !isPlainObject(value)) return null;
  if (!Array.isArray(value) && Object.hasOwn(value, FILE_KEY)) return flawOf(value);
  const members: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  for (const [key, member] of members) {
    const flaw = fileFlawIn(member);
    if (flaw !== null) return { path: [key, ...flaw.path], detail: flaw.detail };
  }
  return null;
}

type Json = Readonly<Record<string, unknown>>;

/** Checks an object that has the key `$file`. */
function flawOf(value: Json): FileFlaw | null {
  const other = Object.keys(value).find((key) => key !== FILE_KEY);
  if (other !== undefined) return { path: [other], detail: `cannot stand beside ${FILE_KEY}` };
  const content = value[FILE_KEY];
  if (!isPlainObject(content)) return { path: [FILE_KEY], detail: 'must be an object that names a file' };
  for (const key of Object.keys(content)) {
    if (!Object.hasOwn(MEMBERS, key)) return { path: [FILE_KEY, key], detail: 'is not a member of a file' };
  }
  for (const [key, problemOf] of Object.entries(MEMBERS)) {
    const detail = problemOf(content[key]);
    if (detail !== null) return { path: [FILE_KEY, key], detail };
  }
  return null;
}

type MemberCheck = (value: unknown) => string | null;

const MEMBERS: Readonly<Record<keyof FileReference, MemberCheck>> = {
  sha256: (value) => (isSha256(value) ? null : 'must be 64 lower-case hexadecimal digits'),
  size: (value) => (Number.isSafeInteger(value) && Number(value) >= 0 ? null : 'must be a whole number of bytes'),
  type: (value) => (isMediaType(value) ? null : `must be a media type of up to ${FILE_TYPE_BYTES_MAX} bytes`),
  name: (value) => (value === undefined ? null : fileNameProblem(value)),
};

const SHA256 = /^[0-9a-f]{64}$/;

export function isSha256(value: unknown): value is string {
  return typeof value === 'string' && SHA256.test(value);
}

const TOKEN = '[A-Za-z0-9!#$&^_.+-]+';
const MEDIA_TYPE = new RegExp(`^${TOKEN}/${TOKEN}(?:; ?${TOKEN}=${TOKEN})*$`);

/** Whether a text is a media type, perhaps with parameters: `text/plain; charset=utf-8`. */
export function isMediaType(value: unknown): value is string {
  return typeof value === 'string' && value.length <= FILE_TYPE_BYTES_MAX && MEDIA_TYPE.test(value);
}

/** Returns what is wrong with the name of a file; null: it is valid. A name is never a path. */
export function fileNameProblem(name: unknown): string | null {
  if (typeof name !== 'string' || name === '') return 'must be a text that is not empty';
  if (name.length > FILE_NAME_BYTES_MAX || utf8Bytes(name) > FILE_NAME_BYTES_MAX) {
    return `is longer than ${FILE_NAME_BYTES_MAX} bytes`;
  }
  return /[/\\]/.test(name) ? 'contains a slash or a backslash' : characterProblem(name);
}

function isPlainObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
