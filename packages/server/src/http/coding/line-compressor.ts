import type { Transform } from 'node:stream';

/**
 * Compresses lines one by one with a stream that keeps what it has seen. Unlike a pipeline it never reads ahead: a line is
 * compressed when it is given, and all that came out of it is in memory then.
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

  /** Everything the stream has given out by then. */
  async add(line: Buffer): Promise<readonly Buffer[]> {
    await new Promise<void>((resolve, reject) =>
      this.#stream.write(line, (error) => (error == null ? resolve() : reject(error))),
    );
    // What was written last is given out in this turn of the event loop.
    await new Promise(setImmediate);
    return this.#take();
  }

  async end(): Promise<readonly Buffer[]> {
    this.#stream.end();
    await this.#ended;
    return this.#take();
  }

  /** Gives back what the compressor holds, whether or not it has come to an end. */
  close(): void {
    this.#stream.destroy();
  }

  #take(): readonly Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }
}
