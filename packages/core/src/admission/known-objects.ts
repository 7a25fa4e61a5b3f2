import type { AdmittedObjects, AttributeTexts, ObjectTexts } from './admitted.ts';

const NO_ATTRIBUTES: AttributeTexts = new Map();

/** Objects that have all been looked at already. */
export class ParsedObjects implements AdmittedObjects {
  readonly #objects: ObjectTexts;
  readonly #ids: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;

  constructor(objects: ObjectTexts) {
    this.#objects = objects;
    this.#ids = [...objects.keys()];
    this.#indexes = new Map(this.#ids.map((id, index) => [id, index]));
  }

  get size(): number {
    return this.#ids.length;
  }

  indexOf(id: string): number | undefined {
    return this.#indexes.get(id);
  }

  idAt(index: number): string {
    return this.#ids[index] ?? '';
  }

  attributesAt(index: number): AttributeTexts {
    return this.#objects.get(this.idAt(index)) ?? NO_ATTRIBUTES;
  }

  textAt(): undefined {
    return undefined;
  }
}
