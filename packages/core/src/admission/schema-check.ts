import { pointer, Refusal, SCHEMA_FLAWS_MAX } from '@tidemark/protocol';
import type { Pace } from '../ports/pace.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { quoted } from './admit-name.ts';

/** Where an attribute of an object does not fit the schema of its source, and how. */
export interface AttributeFlaw {
  readonly attribute: string;
  /** A JSON pointer from the value of the attribute to the wrong part; empty: the value itself. */
  readonly at: string;
  /** A sentence without its subject: `must be a text`. */
  readonly detail: string;
}

/** The same with the object. */
export interface ObjectFlaw extends AttributeFlaw {
  readonly object: string;
}

type Attributes = Readonly<Record<string, unknown>>;

/** What the schema of a source asks of the objects that are written to it. */
export interface SchemaCheck {
  readonly source: string;
  /** False: what does not fit is written all the same, and reported. */
  readonly isEnforced: boolean;
  /** False: stored objects are still being converted to the present version, so what a write makes of them says nothing. */
  readonly checksResults: boolean;
  /** Checks the values of the attributes. With `resultNames`, also that the result has all that are required. */
  check(attributes: Attributes, resultNames: ReadonlySet<string> | null): readonly AttributeFlaw[];
  /** Returns a flaw for each required attribute that is missing. */
  missing(has: (name: string) => boolean): readonly AttributeFlaw[];
  /** Hears of objects that do not fit and were written all the same. */
  report(found: FoundFlaws): void;
}

/** Objects that do not fit a schema: how many, and what is wrong with the first ones. */
export interface FoundFlaws {
  readonly objects: number;
  readonly flaws: readonly ObjectFlaw[];
}

/** What an object weighs beside others, in characters; the check of one takes as long as reading them. */
const OBJECT_UNITS = 200;

/** The check of one write: of the values that it sets, before it looks at stored objects, and then of what it makes of them. */
export class WriteCheck {
  readonly #check: SchemaCheck;
  /** The objects of which the write does not set all required attributes. */
  readonly #incomplete = new Set<string>();
  readonly #given = new FlawList();
  #results = new FlawList();
  /** The name of the objects in the call, for pointers. */
  #field = 'objects';

  constructor(check: SchemaCheck) {
    this.#check = check;
  }

  /** Checks what a call sets. `isWhole`: the objects have no other attributes then. Refuses if the schema is enforced. */
  async checkGiven(objects: unknown, { field, isWhole, pace }: GivenTerms): Promise<void> {
    this.#field = field;
    const budget = new WorkBudget();
    for (const [id, attributes] of Object.entries(objects as Readonly<Record<string, Attributes>>)) {
      this.#given.add(id, this.checkOne(id, attributes, isWhole));
      if (budget.isSpent(OBJECT_UNITS)) await pace.turn();
    }
    if (this.#check.isEnforced) this.#given.refuse(this.#check.source, field);
  }

  /** Notes objects that a call takes attributes from. `field` is their name in the call. */
  noteTaken(objects: unknown, field: string): void {
    this.#field = field;
    for (const id of Object.keys(objects as object)) this.#incomplete.add(id);
  }

  checkOne(id: string, attributes: Attributes, isWhole: boolean): readonly AttributeFlaw[] {
    const flaws = this.#check.check(attributes, null);
    const missing = this.#check.missing((name) => Object.hasOwn(attributes, name));
    if (missing.length === 0) return flaws;
    if (!isWhole) this.#incomplete.add(id);
    // An object without attributes is deleted, or not created.
    return isWhole && Object.keys(attributes).length > 0 ? [...flaws, ...missing] : flaws;
  }

  /** Notes the flaws of an object of an answer that is written all the same; refuses it if the schema is enforced. */
  checkAnswered(id: string, attributes: Attributes): void {
    const flaws = this.checkOne(id, attributes, true);
    const [first] = flaws;
    if (first === undefined) return;
    if (this.#check.isEnforced) throw new Refusal('schema_violation', sentenceOf(first));
    this.#given.add(id, flaws);
  }

  /** Begins with what the write makes of stored objects. It begins again after another writer was faster. */
  begin(): void {
    this.#results = new FlawList();
  }

  /** Checks what the write makes of a stored object. */
  checkResult(id: string, result: { has(name: string): boolean }): void {
    if (this.#check.checksResults && this.#incomplete.has(id))
      this.#results.add(
        id,
        this.#check.missing((name) => result.has(name)),
      );
  }

  /** Refuses the write if the schema is enforced and an object would not fit it. */
  requireFit(): void {
    if (this.#check.isEnforced) this.#results.refuse(this.#check.source, this.#field);
  }

  /** Reports what does not fit and was written. */
  end(): void {
    const objects = this.#given.objects + this.#results.objects;
    if (objects > 0) this.#check.report({ objects, flaws: [...this.#given.flaws, ...this.#results.flaws] });
  }
}

interface GivenTerms {
  /** The name of the objects in the call, for pointers. */
  readonly field: string;
  readonly isWhole: boolean;
  readonly pace: Pace;
}

/** Counts objects that do not fit, and keeps the first flaws. */
class FlawList {
  objects = 0;
  readonly flaws: ObjectFlaw[] = [];

  add(object: string, flaws: readonly AttributeFlaw[]): void {
    if (flaws.length === 0) return;
    this.objects++;
    for (const flaw of flaws.slice(0, SCHEMA_FLAWS_MAX - this.flaws.length)) this.flaws.push({ object, ...flaw });
  }

  refuse(source: string, field: string): void {
    const [first] = this.flaws;
    if (first === undefined) return;
    const count = this.objects === 1 ? 'an object does' : `${this.objects} objects do`;
    throw new Refusal(
      'schema_violation',
      `${count} not fit the schema of ${quoted(source)}: object ${quoted(first.object)}: ${sentenceOf(first)}`,
      this.flaws.map(({ object, attribute, at, detail }) => ({
        pointer: `${pointer(field, object, attribute)}${at}`,
        detail,
      })),
    );
  }
}

/** Returns a flaw as a whole sentence: `"state" must be a text`. */
export function sentenceOf({ attribute, at, detail }: AttributeFlaw): string {
  return `${quoted(attribute)}${at === '' ? '' : ` (at ${at})`} ${detail}`;
}
