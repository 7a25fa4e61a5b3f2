/**
 * The sources that must be pulled. A source wanted during a pull needs another pull, since the page may have been
 * made before. So wants and requests share one sequence of numbers.
 */
export class WantedSources {
  readonly #bySource = new Map<string, number>();
  #tick = 0;

  #isAll = false;

  get size(): number {
    return this.#bySource.size;
  }

  /** True: all sources are wanted, also those that the device will hear of with the next list. */
  get isAll(): boolean {
    return this.#isAll;
  }

  get isEmpty(): boolean {
    return this.size === 0 && !this.#isAll;
  }

  addAll(known: readonly string[]): void {
    this.#isAll = true;
    for (const source of known) this.add(source);
  }

  /** To be called with the list of sources: those that are new are wanted, too. */
  expand(sources: readonly string[], known: readonly string[]): void {
    for (const source of sources) if (this.#isAll || !known.includes(source)) this.add(source);
    this.#isAll = false;
  }

  add(source: string): void {
    this.#bySource.set(source, this.#tick);
  }

  has(source: string): boolean {
    return this.#bySource.has(source);
  }

  remove(source: string): void {
    this.#bySource.delete(source);
  }

  clear(): void {
    this.#bySource.clear();
  }

  names(): readonly string[] {
    return [...this.#bySource.keys()];
  }

  /** Returns the number of a request that is about to be sent. */
  beginRequest(): number {
    return ++this.#tick;
  }

  /** A source wanted from now on is satisfied by requests with a larger number. */
  get tick(): number {
    return this.#tick;
  }

  /** Marks the source as complete as of this request. */
  fulfil(source: string, request: number): void {
    const wantedAt = this.#bySource.get(source);
    if (wantedAt !== undefined && wantedAt < request) this.#bySource.delete(source);
  }

  /** Moves a source with more pages behind the others. */
  postpone(source: string): void {
    const wantedAt = this.#bySource.get(source);
    this.#bySource.delete(source);
    this.#bySource.set(source, wantedAt ?? this.#tick);
  }
}
