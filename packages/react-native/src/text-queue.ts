/** Texts that one side adds and the other one reads, in their order. */
export class TextQueue {
  readonly #texts: string[] = [];
  readonly #onStopped: () => void;
  #end: { readonly error: unknown } | 'complete' | null = null;
  #wake: () => void = () => undefined;

  /** `onStopped` is called when the reader stops, also before the end. */
  constructor(onStopped: () => void) {
    this.#onStopped = onStopped;
  }

  add(text: string): void {
    if (this.#end !== null || text === '') return;
    this.#texts.push(text);
    this.#wake();
  }

  /** The reader gets what was added before, and ends. Only the first end counts. */
  complete(): void {
    this.#end ??= 'complete';
    this.#wake();
  }

  /** The reader gets what was added before, and then the error. */
  fail(error: unknown): void {
    this.#end ??= { error };
    this.#wake();
  }

  /** To be called once. Not by `Symbol.asyncIterator`, which Hermes has not. */
  async *read(): AsyncGenerator<string> {
    try {
      for (;;) {
        const text = this.#texts.shift();
        if (text !== undefined) yield text;
        else if (this.#end === 'complete') return;
        else if (this.#end !== null) throw this.#end.error;
        else
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
      }
    } finally {
      this.#onStopped();
    }
  }
}
