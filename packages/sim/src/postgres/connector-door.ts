import { once } from 'node:events';
import { Agent, createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** Something that happens at a later call. */
export interface DoorFault {
  /** How many calls pass before it. */
  after: number;
  /** How many calls it meets. */
  count: number;
  /**
   * False: the call does not arrive; of one that pushes to several users or groups the first half does, as with a server that is killed
   * while it writes. True: it arrives, and its answer does not.
   */
  readonly isAnswered: boolean;
  /** The calls that it counts. Absent: all. */
  readonly path?: RegExp;
  /** Done before the caller is hung up on. */
  readonly act?: () => Promise<void>;
}

/** Between a connector and Tidemark: counts the calls, and lets something happen at one of them. */
export class ConnectorDoor {
  readonly #target: () => string;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: true });
  #faults: DoorFault[] = [];

  private constructor(target: () => string) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => {
      this.#handle(incoming, outgoing).catch(() => outgoing.destroy());
    });
  }

  static async open(target: () => string): Promise<ConnectorDoor> {
    const door = new ConnectorDoor(target);
    door.#server.listen(0, '127.0.0.1');
    await once(door.#server, 'listening');
    return door;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  arm(fault: DoorFault): void {
    this.#faults.push(fault);
  }

  /** Takes the faults back that nothing has met, and returns them. */
  disarm(): readonly DoorFault[] {
    const faults = this.#faults;
    this.#faults = [];
    return faults;
  }

  async close(): Promise<void> {
    this.#agent.destroy();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #handle(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const fault = this.#next(incoming.url ?? '');
    const body = await buffer(incoming);
    if (fault === null) {
      const { status, headers, content } = await this.#forward(incoming, body);
      outgoing.writeHead(status, headers).end(content);
      return;
    }
    const arrived = fault.isAnswered ? body : halfOf(incoming.url ?? '', body);
    if (arrived !== null) await this.#forward(incoming, arrived);
    await fault.act?.();
    outgoing.destroy();
  }

  /** Every fault counts every call that it is about. */
  #next(url: string): DoorFault | null {
    let met: DoorFault | null = null;
    for (const fault of this.#faults) {
      if (fault.path?.test(url) === false) continue;
      if (fault.after > 0) fault.after--;
      else if (met === null) {
        met = fault;
        fault.count--;
      }
    }
    this.#faults = this.#faults.filter(({ count }) => count > 0);
    return met;
  }

  async #forward({ url = '/', method, headers }: IncomingMessage, body: Buffer) {
    const sent = body.length === 0 ? headers : { ...headers, 'content-length': String(body.length) };
    const forwarded = request(new URL(url, this.#target()), { method, headers: sent, agent: this.#agent });
    forwarded.end(body);
    const [answer] = (await once(forwarded, 'response')) as [IncomingMessage];
    const content = await buffer(answer);
    return { status: answer.statusCode ?? 502, headers: answer.headers, content };
  }
}

/** Null: the call pushes to one partition or to none. */
function halfOf(url: string, body: Buffer): Buffer | null {
  if (!url.endsWith('/push_partitions')) return null;
  const pushed = JSON.parse(body.toString()) as { readonly partitions: readonly unknown[] };
  const partitions = pushed.partitions.slice(0, pushed.partitions.length >> 1);
  return Buffer.from(JSON.stringify({ ...pushed, partitions }));
}
