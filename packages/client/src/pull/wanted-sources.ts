/**
 * Which sources are to be pulled. A wish made while a pull is under way is not fulfilled by that one, since its page
 * may have been made before: so wishes and requests are numbered together.
 */
export class WantedSources {
  readonly #bySource = new Map<string, number>();
  #tick = 0;

  get size(): number {
    return this.#bySource.size;
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

  /** The number of a request that is about to leave. */
  beginRequest(): number {
    return ++this.#tick;
  }

  /** A wish made from now on is answered by requests with a larger number than this. */
  get tick(): number {
    return this.#tick;
  }

  /** The source is complete as of this request. */
  fulfil(source: string, request: number): void {
    const wantedAt = this.#bySource.get(source);
    if (wantedAt !== undefined && wantedAt < request) this.#bySource.delete(source);
  }

  /** The source has more to tell; the others come first next time. */
  postpone(source: string): void {
    const wantedAt = this.#bySource.get(source);
    this.#bySource.delete(source);
    this.#bySource.set(source, wantedAt ?? this.#tick);
  }
}
