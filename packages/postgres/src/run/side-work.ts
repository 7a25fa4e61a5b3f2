/**
 * Work that is done beside the stream, one piece after the other, so that the next changes are read meanwhile. At most one piece is
 * under way: whoever begins another one waits.
 */
export class SideWork {
  readonly #onFailure: () => void;
  #running: Promise<void> | null = null;
  #failure: Error | null = null;

  /** `onFailure` is called at once when a piece fails, because nobody may be waiting for it. */
  constructor(onFailure: () => void) {
    this.#onFailure = onFailure;
  }

  get hasFailed(): boolean {
    return this.#failure !== null;
  }

  /** Begins a piece when the one before is done. Throws when something has failed. */
  async begin(piece: () => Promise<void>): Promise<void> {
    await this.done();
    this.#running = piece()
      .catch((error: Error) => this.fail(error))
      .finally(() => {
        this.#running = null;
      });
  }

  /** Resolves when nothing is under way. Throws when something has failed. */
  async done(): Promise<void> {
    await this.ended();
    if (this.#failure !== null) throw this.#failure;
  }

  /** Resolves when nothing is under way, also after a failure. */
  async ended(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  fail(error: Error): void {
    this.#failure ??= error;
    this.#onFailure();
  }
}
