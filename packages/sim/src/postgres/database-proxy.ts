import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';

/** What a client writes when it begins to read a chunk, and when it writes the mark after it. */
const HELD_AT = { read: /repeatable read/i, mark: / high/ } as const;
const REPLICATION = 'replication\0database';

interface Hold {
  readonly at: keyof typeof HELD_AT;
  readonly chunks: number;
}

/** Between a connector and its database: connections can be cut in the middle of a message, and held at a chunk. */
export class DatabaseProxy {
  readonly #server: Server;
  readonly #links = new Set<Link>();
  #target: number;
  /** Bytes of the replication stream that still pass; null: all. */
  #passing: number | null = null;
  #hold: Hold | null = null;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer((socket) => this.#join(socket));
  }

  static async open(target: number): Promise<DatabaseProxy> {
    const proxy = new DatabaseProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    return proxy;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** New connections lead to another server. */
  retarget(port: number): void {
    this.#target = port;
  }

  /** Cuts the replication connection when so many bytes more have passed to the connector. */
  cutAfter(bytes: number): void {
    this.#passing = bytes;
  }

  /** After some chunks, the next connection that gets to this point waits there until `release`. */
  hold(at: Hold['at'], chunks: number): void {
    this.#hold = { at, chunks };
  }

  /** Whether a connection is still to be held. */
  get willHold(): boolean {
    return this.#hold !== null;
  }

  release(): void {
    this.#hold = null;
    for (const link of this.#links) link.release();
  }

  /** Ends all faults. */
  calm(): void {
    this.#passing = null;
    this.release();
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #join(near: Socket): void {
    const link = new Link(near, connect(this.#target, '127.0.0.1'), {
      passes: (bytes) => this.#passed(bytes),
      isHeld: (text) => this.#isHeld(text),
      onClose: () => this.#links.delete(link),
    });
    this.#links.add(link);
  }

  #isHeld(text: string): boolean {
    const hold = this.#hold;
    if (hold === null || !HELD_AT[hold.at].test(text)) return false;
    this.#hold = hold.chunks > 0 ? { ...hold, chunks: hold.chunks - 1 } : null;
    return this.#hold === null;
  }

  /** How many of the bytes pass; fewer than all: the connection is cut behind them. */
  #passed(bytes: number): number {
    if (this.#passing === null) return bytes;
    const passed = Math.min(bytes, this.#passing);
    this.#passing = passed < bytes ? null : this.#passing - bytes;
    return passed;
  }
}

interface LinkRules {
  readonly passes: (bytes: number) => number;
  readonly isHeld: (text: string) => boolean;
  readonly onClose: () => void;
}

/** One connection of the connector. */
class Link {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #rules: LinkRules;
  #isReplication = false;
  #held: Buffer[] | null = null;

  constructor(near: Socket, far: Socket, rules: LinkRules) {
    this.#near = near;
    this.#far = far;
    this.#rules = rules;
    near.on('data', (bytes) => this.#fromConnector(bytes));
    far.on('data', (bytes) => this.#fromServer(bytes));
    for (const socket of [near, far]) {
      socket.setNoDelay(true);
      // `close` follows.
      socket.on('error', () => undefined);
      socket.once('close', () => this.destroy());
    }
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = null;
    for (const bytes of held) this.#far.write(bytes);
  }

  destroy(): void {
    this.#near.destroy();
    this.#far.destroy();
    this.#rules.onClose();
  }

  #fromConnector(bytes: Buffer): void {
    const text = bytes.toString('latin1');
    if (text.includes(REPLICATION)) this.#isReplication = true;
    if (this.#held === null && this.#rules.isHeld(text)) this.#held = [];
    if (this.#held === null) this.#far.write(bytes);
    else this.#held.push(bytes);
  }

  #fromServer(bytes: Buffer): void {
    const passed = this.#isReplication ? this.#rules.passes(bytes.length) : bytes.length;
    if (passed === bytes.length) this.#near.write(bytes);
    else this.#near.end(bytes.subarray(0, passed), () => this.destroy());
  }
}
