/** A map of at most `entriesMax` entries. Beyond that it evicts the entry that was set longest ago. */
export class BoundedMap<K, V> extends Map<K, V> {
  readonly #entriesMax: number;

  constructor(entriesMax: number) {
    super();
    this.#entriesMax = entriesMax;
  }

  override set(key: K, value: V): this {
    // The entries stay in the order in which they were set.
    this.delete(key);
    super.set(key, value);
    if (this.size <= this.#entriesMax) return this;
    const [oldest] = this.keys();
    if (oldest !== undefined) this.delete(oldest);
    return this;
  }
}
