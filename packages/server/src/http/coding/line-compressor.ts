import type { Transform } from 'node:stream';

/**
 * Compresses lines one by one with one stream. Unlike a pipeline it never reads ahead: a line is compressed when it
 * is added, and its whole output is in memory then.
 */
export class LineCompressor {
  readonly #stream: Transform;
  readonly #ended: Promise<void>;
  #pieces: Buffer[] = [];

  constructor(stream: Transform) {
    this.#stream = stream;
    stream.on('data', (piece: Buffer) => this.#pieces.push(piece));
    this.#ended = new Promise((resolve, reject) => stream.once('end', resolve).once('error', reject));
    this.#ended.catch(() => undefined);
  }

  /** Returns the output of the stream so far. */
  async add(line: Buffer): Promise<readonly Buffer[]> {
    await new Promise<void>((resolve, reject) =>
      this.#stream.write(line, (error) => (error == null ? resolve() : reject(error))),
    );
    // The stream emits the output of the last write within this turn of the event loop.
    await new Promise(setImmediate);
    return this.#take();
  }

  async end(): Promise<readonly Buffer[]> {
    this.#stream.end();
    await this.#ended;
    return this.#take();
  }

  /** Releases the compressor, whether or not the stream has ended. */
  close(): void {
    this.#stream.destroy();
  }

  #take(): readonly Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}
