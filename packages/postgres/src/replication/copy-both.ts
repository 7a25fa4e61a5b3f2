import { Duplex } from 'node:stream';
import type { Client, Connection } from 'pg';

/** What the driver's connection also has. */
interface CopyConnection extends Connection {
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

/**
 * A command that makes a connection one of copies in both directions, as `START_REPLICATION` does, as a stream of its
 * messages. Nothing is read from the socket while the stream is full. The connection ends with the stream.
 *
 * The driver calls `submit` and the methods that begin with `handle`.
 */
export class CopyBoth extends Duplex {
  readonly #connection: CopyConnection;
  readonly #command: string;
  #onStart: (error: Error | null) => void = () => undefined;

  private constructor(client: Client, command: string) {
    super({ readableObjectMode: true });
    this.#connection = client.connection as CopyConnection;
    this.#command = command;
    // A stream may fail before it has a reader.
    this.on('error', () => undefined);
  }

  /** Rejects when the server refuses the command. */
  static async start(client: Client, command: string): Promise<CopyBoth> {
    const stream = new CopyBoth(client, command);
    await new Promise<void>((resolve, reject) => {
      stream.#onStart = (error) => (error === null ? resolve() : reject(error));
      client.query(stream);
    });
    if (stream.errored !== null) throw stream.errored;
    return stream;
  }

  submit(connection: Connection): void {
    connection.once('replicationStart', () => this.#onStart(null));
    connection.query(this.#command);
  }

  handleCopyData({ chunk }: { readonly chunk: Buffer }): void {
    // A copy, because the driver puts later bytes into the same memory.
    if (!this.push(Buffer.from(chunk))) this.#connection.stream.pause();
  }

  handleCommandComplete(): void {
    this.push(null);
  }

  handleReadyForQuery(): void {
    // The command is complete already, or has failed.
  }

  handleError(error: Error): void {
    this.#onStart(error);
    // Without a code it says no more than that the connection has ended.
    this.destroy('code' in error ? error : undefined);
  }

  override _read(): void {
    this.#connection.stream.resume();
  }

  override _write(bytes: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.#connection.sendCopyFromChunk(bytes);
    if (this.#connection.stream.writableNeedDrain) this.#connection.stream.once('drain', done);
    else done();
  }

  override _final(done: () => void): void {
    this.#connection.endCopyFrom();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.#connection.stream.destroy();
    done(error);
  }
}
