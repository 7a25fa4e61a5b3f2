import { parseJson, Refusal } from '@tidemark/protocol';
import { ENVELOPE_NAMES_MAX } from '../limits.ts';

const SHOWN_UNITS_MAX = 80;
/** Lists of objects that have objects by id in them, where the last of two would win unnoticed. */
const LISTS: ReadonlySet<string> = new Set(['partitions']);

/**
 * Collects the member names of the outermost object of a body to find duplicates. `JSON.parse` keeps the last of two
 * members with the same name, while a proxy or a log may have looked at the first.
 */
export class EnvelopeNames {
  readonly #names = new Set<string>();
  #duplicate: string | null = null;
  /** The fields so far, with the number of members that the object in each field has in the text. */
  readonly #fields: { readonly name: string; members: number }[] = [];
  #field = { name: '', members: 0 };

  /** Adds a name, given as JSON text: the same name can be written with and without escapes. */
  readonly note = (quoted: string): void => {
    const name = nameOf(quoted);
    this.#field = { name, members: 0 };
    if (this.#names.has(name)) this.#duplicate ??= name;
    else this.#fields.push(this.#field);
    this.#names.add(name);
    // No valid request has so many fields, and keeping all names would cost more than refusing the request.
    if (this.#names.size > ENVELOPE_NAMES_MAX) {
      throw new Refusal('limit_exceeded', `the body has more than ${ENVELOPE_NAMES_MAX} fields`);
    }
  };

  /** Counts a member of an object in a list, or of an object in that, if the last field is such a list. */
  readonly noteInnerMember = (): void => {
    if (LISTS.has(this.#field.name)) this.#field.members++;
  };

  /** Counts a member of the object in the last field. */
  readonly noteMember = (): void => {
    this.#field.members++;
  };

  /** True if an object in a field of the parsed body has fewer members than its text: then a name occurs twice. */
  hasDuplicateMember(body: unknown): boolean {
    for (const { name, members } of this.#fields) {
      if (members < 2) continue;
      const value = (body as Readonly<Record<string, unknown>>)[name];
      const count = Array.isArray(value) ? membersIn(value) : Object.keys(value as object).length;
      if (count !== members) return true;
    }
    return false;
  }

  requireUnique(): void {
    if (this.#duplicate === null) return;
    const name = JSON.stringify(this.#duplicate.slice(0, SHOWN_UNITS_MAX).toWellFormed());
    throw new Refusal('invalid_json', `the field ${name} occurs twice`);
  }
}

/** The members of the objects in a list, and of the objects directly in those. */
function membersIn(list: readonly unknown[]): number {
  let count = 0;
  for (const item of list) {
    count += memberCount(item);
    const inner: readonly unknown[] = typeof item === 'object' && item !== null ? Object.values(item) : [];
    for (const value of inner) count += memberCount(value);
  }
  return count;
}

function memberCount(value: unknown): number {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  return isObject ? Object.keys(value).length : 0;
}

/** Decodes a name given as JSON text. */
export function nameOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return parseJson(quoted) as string;
  } catch {
    // Not JSON: the parser will report it.
    return quoted;
  }
}
