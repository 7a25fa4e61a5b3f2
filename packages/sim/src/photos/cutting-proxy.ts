import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** The most that a socket gives at once. A connection is cut before another chunk could exceed the limit. */
const CHUNK_BYTES_MAX = 65_536;

/** A TCP proxy that cuts every connection before more than some bytes of the caller have passed, and counts what has passed. */
export class CuttingProxy {
  readonly #server: Server;
  readonly #onBytes: (total: number) => void;
  #bytes = 0;
  #cuts = 0;

  private constructor(port: number, cutAfterBytes: number, onBytes: (total: number) => void) {
    this.#onBytes = onBytes;
    this.#server = createServer((near) => this.#join(near, connect(port, '127.0.0.1'), cutAfterBytes));
  }

  static async open(port: number, cutAfterBytes: number, onBytes: (total: number) => void): Promise<CuttingProxy> {
    const proxy = new CuttingProxy(port, cutAfterBytes, onBytes);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What callers have sent, headers included. */
  get bytes(): number {
    return this.#bytes;
  }

  get cuts(): number {
    return this.#cuts;
  }

  async close(): Promise<void> {
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket, far: Socket, cutAfterBytes: number): void {
    let passed = 0;
    near.on('data', (bytes: Buffer) => {
      passed += bytes.length;
      this.#bytes += bytes.length;
      far.write(bytes);
      if (passed > cutAfterBytes - CHUNK_BYTES_MAX && !near.destroyed) {
        this.#cuts++;
        near.resetAndDestroy();
      }
      this.#onBytes(this.#bytes);
    });
    far.pipe(near);
    near.once('close', () => far.destroySoon());
    far.once('close', () => near.destroy());
    // `close` follows.
    for (const socket of [near, far]) socket.on('error', () => undefined);
  }
}
