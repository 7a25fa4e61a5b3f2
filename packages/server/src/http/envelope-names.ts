import { parseJson, Refusal } from '@tidemark/protocol';
import { ENVELOPE_NAMES_MAX } from '../limits.ts';

const TOLD_UNITS_MAX = 80;

/**
 * The names of the outermost object of a body. `JSON.parse` would quietly take the last of two members with the same
 * name, and whoever looked at the first one, a proxy or a log, would have seen another request.
 */
export class EnvelopeNames {
  readonly #names = new Set<string>();
  #doubled: string | null = null;
  /** The fields so far, and how many members the object in each has, as they are written. */
  readonly #fields: { readonly name: string; members: number }[] = [];
  #field = { name: '', members: 0 };

  /** `quoted` is the name as JSON text: the same name can be spelt with escapes and without. */
  readonly note = (quoted: string): void => {
    const name = nameOf(quoted);
    this.#field = { name, members: 0 };
    if (this.#names.has(name)) this.#doubled ??= name;
    else this.#fields.push(this.#field);
    this.#names.add(name);
    // No request has so many, and keeping them all would cost more than refusing them.
    if (this.#names.size > ENVELOPE_NAMES_MAX) {
      throw new Refusal(
        'limit_exceeded',
        `the body has more than the ${ENVELOPE_NAMES_MAX} fields any request can have`,
      );
    }
  };

  /** The object in the field told last has another member. */
  readonly noteMember = (): void => {
    this.#field.members++;
  };

  /** Whether an object in a field of the parsed body has fewer members than were written: then one stands twice. */
  hasDoubledMember(body: unknown): boolean {
    for (const { name, members } of this.#fields) {
      if (members < 2) continue;
      const value = (body as Readonly<Record<string, unknown>>)[name];
      if (Object.keys(value as object).length !== members) return true;
    }
    return false;
  }

  requireSingle(): void {
    if (this.#doubled === null) return;
    const told = JSON.stringify(this.#doubled.slice(0, TOLD_UNITS_MAX).toWellFormed());
    throw new Refusal('invalid_json', `the field ${told} stands twice`);
  }
}

/** What a name that is given as JSON text says. */
export function nameOf(quoted: string): string {
  if (!quoted.includes('\\')) return quoted.slice(1, -1);
  try {
    return parseJson(quoted) as string;
  } catch {
    // Not JSON: the parser will say so.
    return quoted;
  }
}
