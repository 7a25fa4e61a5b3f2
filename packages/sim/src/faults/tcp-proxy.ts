import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy whose connections can be cut, such as between a server and its store. */
export class TcpProxy {
  readonly #port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #isCut = false;

  private constructor(port: number) {
    this.#port = port;
    this.#server = createServer((socket) => this.#join(socket));
  }

  /** Opens a proxy in front of a port on loopback. */
  static async open(port: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(port);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** Closes all connections, and every new one until `restore`. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(socket: Socket): void {
    if (this.#isCut) return void socket.destroy();
    const upstream = connect(this.#port, '127.0.0.1');
    for (const [one, other] of [
      [socket, upstream],
      [upstream, socket],
    ] as const) {
      this.#sockets.add(one);
      one.setNoDelay(true);
      one.once('error', () => other.destroy());
      one.once('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }
}
