import type { AttributeTexts } from '../journal/attribute-texts.ts';
import type { ObjectChange } from '../journal/record.ts';

declare const admitted: unique symbol;

/** A value that has passed admission. Writing a value that was not admitted does not compile. */
export type Admitted<T> = T & { readonly [admitted]: true };

/** Only functions of this folder may call this. */
export function asAdmitted<T>(value: T): Admitted<T> {
  return value as Admitted<T>;
}

/** Objects by id. */
export type ObjectTexts = ReadonlyMap<string, AttributeTexts>;

/** One object of a document, and what its replacement decided about it. */
export interface DocumentObject {
  readonly id: string;
  /** Its place in the order of the document. */
  readonly index: number;
  /** The JSON text until it is parsed, then the attributes. */
  content: string | AttributeTexts;
  /** `create` until the object is found in the partition. */
  decision: 'create' | 'keep' | ObjectChange;
}

/**
 * The objects of a whole document. An object that arrived as text is parsed and checked when its attributes are first
 * asked for; an object whose text equals the stored text never is.
 */
export class DocumentObjects {
  readonly #parse: (id: string, text: string) => AttributeTexts;
  readonly #byId = new Map<string, DocumentObject>();
  readonly #inOrder: DocumentObject[] = [];

  constructor(parse: (id: string, text: string) => AttributeTexts) {
    this.#parse = parse;
  }

  static parsed(objects: ObjectTexts): DocumentObjects {
    const all = new DocumentObjects(() => {
      throw new Error('the objects are parsed already');
    });
    for (const [id, attributes] of objects) all.add(id, attributes);
    return all;
  }

  /** Returns false when an object of this id was added before; the document cannot be used then. */
  add(id: string, content: string | AttributeTexts): boolean {
    const index = this.#inOrder.length;
    const object: DocumentObject = { id, index, content, decision: 'create' };
    this.#byId.set(id, object);
    // One call of `set` costs less than asking first whether the id is there.
    if (this.#byId.size === index) return false;
    this.#inOrder.push(object);
    return true;
  }

  get size(): number {
    return this.#inOrder.length;
  }

  get(id: string): DocumentObject | undefined {
    return this.#byId.get(id);
  }

  at(index: number): DocumentObject | undefined {
    return this.#inOrder[index];
  }

  [Symbol.iterator](): Iterator<DocumentObject> {
    return this.#inOrder.values();
  }

  /** Throws a refusal when the object is not valid. */
  attributesOf(object: DocumentObject): AttributeTexts {
    if (typeof object.content === 'string') object.content = this.#parse(object.id, object.content);
    return object.content;
  }
}
