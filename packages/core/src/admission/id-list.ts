/**
 * The ids of an answer, in the order in which they came. Backends mostly answer in some order, and then nothing has to be
 * kept beside the list to find an id in it, or to know that none stands twice; an index of a hundred thousand costs more
 * than everything else that is done with them. Once the order is broken, there is an index.
 */
export class IdList {
  readonly #ids: string[] = [];
  /** Ascending as texts: "10" before "9". */
  #isByText = true;
  /** Shorter ones first, as numbers are written: "9" before "10". */
  #isByLength = true;
  #indexes: Map<string, number> | null = null;
  /** Ids are mostly asked for in the order in which they stand: behind the last one that was found. */
  #next = 0;

  get size(): number {
    return this.#ids.length;
  }

  at(index: number): string {
    return this.#ids[index] ?? '';
  }

  /** False: it stands there already. */
  add(id: string): boolean {
    const index = this.#ids.length;
    if (this.#indexes === null && index > 0 && !this.#isInOrder(this.at(index - 1), id))
      this.#indexes = this.#indexed();
    this.#indexes?.set(id, index);
    if (this.#indexes?.size === index) return false;
    this.#ids.push(id);
    return true;
  }

  indexOf(id: string): number | undefined {
    if (this.#indexes !== null) return this.#indexes.get(id);
    const index = this.#ids[this.#next] === id ? this.#next : this.#search(id);
    if (index !== undefined) this.#next = index + 1;
    return index;
  }

  /** Whether there is still an order in which all of them stand. */
  #isInOrder(last: string, id: string): boolean {
    this.#isByText &&= last < id;
    this.#isByLength &&= isShorter(last, id);
    return this.#isByText || this.#isByLength;
  }

  #indexed(): Map<string, number> {
    const indexes = new Map<string, number>();
    for (let index = 0; index < this.#ids.length; index++) indexes.set(this.at(index), index);
    return indexes;
  }

  #search(id: string): number | undefined {
    let [low, high] = [0, this.#ids.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      const found = this.at(middle);
      if (found === id) return middle;
      if (this.#isByText ? found < id : isShorter(found, id)) low = middle + 1;
      else high = middle;
    }
    return undefined;
  }
}

function isShorter(left: string, right: string): boolean {
  return left.length === right.length ? left < right : left.length < right.length;
}
