import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** A TCP proxy whose connections can be cut and stalled, such as between a server and its store. */
export class TcpProxy {
  readonly #port: number;
  readonly #server: Server;
  readonly #links = new Set<Link>();
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
    for (const link of this.#links) link.destroy();
  }

  restore(): void {
    this.#isCut = false;
  }

  /**
   * Holds back what the present connections carry, in both directions, as a network that loses all packets of a connection
   * does; new connections work. `isStalled` chooses among the connections. Returns the function that delivers what was held
   * back, even if one end has closed meanwhile.
   *
   * With `from`, a connection is stalled from the first chunk on for which it returns true, such as a certain command.
   */
  stall(isStalled: () => boolean = () => true, from: (bytes: Buffer) => boolean = () => true): () => void {
    const links = [...this.#links].filter(isStalled);
    for (const link of links) link.stall(from);
    return () => {
      for (const link of links) link.resume();
    };
  }

  /** Closes all connections at the side of the callers. What they have sent before still arrives. */
  hangUp(): void {
    for (const link of this.#links) link.hangUp();
  }

  /** How many chunks of bytes the stalled connections hold back. */
  get heldChunks(): number {
    return [...this.#links].reduce((sum, link) => sum + link.heldChunks, 0);
  }

  async close(): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(socket: Socket): void {
    if (this.#isCut) return void socket.destroy();
    const link = new Link(socket, connect(this.#port, '127.0.0.1'), () => this.#links.delete(link));
    this.#links.add(link);
  }
}

/** One connection through the proxy: the two sockets whose bytes it forwards. */
class Link {
  readonly #ends: readonly [Socket, Socket];
  /** What was held back, in order; null: nothing is. */
  #held: (() => void)[] | null = null;
  /** With which chunk a stall begins; null: none is to begin. */
  #from: ((bytes: Buffer) => boolean) | null = null;
  #open = 2;

  constructor(near: Socket, far: Socket, onClose: () => void) {
    this.#ends = [near, far];
    this.#forward(near, far, onClose);
    this.#forward(far, near, onClose);
  }

  get heldChunks(): number {
    return this.#held?.length ?? 0;
  }

  stall(from: (bytes: Buffer) => boolean): void {
    this.#from = from;
  }

  resume(): void {
    const held = this.#held ?? [];
    this.#from = null;
    this.#held = null;
    for (const deliver of held) deliver();
  }

  hangUp(): void {
    this.#ends[0].destroy();
  }

  destroy(): void {
    this.#held = null;
    for (const end of this.#ends) end.destroy();
  }

  #forward(from: Socket, to: Socket, onClose: () => void): void {
    from.setNoDelay(true);
    from.on('data', (bytes) => {
      if (this.#from?.(bytes)) this.#held ??= [];
      this.#deliver(() => to.write(bytes));
    });
    // `close` follows.
    from.on('error', () => undefined);
    from.once('close', () => {
      this.#deliver(() => to.destroySoon());
      this.#open -= 1;
      if (this.#open === 0) onClose();
    });
  }

  #deliver(deliver: () => void): void {
    if (this.#held === null) deliver();
    else this.#held.push(deliver);
  }
}
