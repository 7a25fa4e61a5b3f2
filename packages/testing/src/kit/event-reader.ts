import { type ClientRequest, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';

export interface ReadEvent {
  readonly name: string;
  readonly data: unknown;
}

export interface EventReaderOptions {
  /** The sources whose pages the stream should carry. */
  readonly pages?: readonly string[];
  readonly headers?: Readonly<Record<string, string>>;
}

/** Reads a stream of Server-Sent Events, as a device does. */
export class EventReader {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly #request: ClientRequest;
  readonly #response: IncomingMessage;
  readonly #events: ReadEvent[] = [];
  readonly #waiting: (() => void)[] = [];
  #text = '';
  #heartbeats = 0;
  #hasEnded = false;

  private constructor(sent: ClientRequest, response: IncomingMessage) {
    this.#request = sent;
    this.#response = response;
    this.status = response.statusCode ?? 0;
    this.headers = response.headers;
    response.setEncoding('utf8');
    response.on('data', (chunk: string) => this.#take(chunk));
    const end = () => {
      this.#hasEnded = true;
      this.#wake();
    };
    response.on('close', end);
    response.on('error', end);
  }

  static open(url: string, token: string, { pages = [], headers = {} }: EventReaderOptions = {}): Promise<EventReader> {
    const query = pages.map((source) => `pages=${encodeURIComponent(source)}`).join('&');
    return new Promise((resolve, reject) => {
      const options = { headers: { authorization: `Bearer ${token}`, accept: 'text/event-stream', ...headers } };
      const sent = request(`${url}/sync/v1/events?${query}`, { ...options, agent: false }, (response) =>
        resolve(new EventReader(sent, response)),
      );
      sent.on('error', reject);
      sent.end();
    });
  }

  /** Returns the next event; null: the stream has ended. */
  async next(): Promise<ReadEvent | null> {
    await this.#until(() => this.#events.length > 0);
    return this.#events.shift() ?? null;
  }

  /** Returns all events until the stream ends. */
  async rest(): Promise<readonly ReadEvent[]> {
    await this.#until(() => false);
    return this.#events.splice(0);
  }

  /** Resolves when this many heartbeats have arrived since the beginning. */
  async heartbeats(count: number): Promise<void> {
    await this.#until(() => this.#heartbeats >= count);
  }

  /** Stops reading until `resume`. */
  pause(): void {
    this.#response.pause();
  }

  resume(): void {
    this.#response.resume();
  }

  close(): void {
    this.#request.destroy();
  }

  async #until(isDone: () => boolean): Promise<void> {
    while (!isDone() && !this.#hasEnded) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #take(chunk: string): void {
    const blocks = (this.#text + chunk).split('\n\n');
    this.#text = blocks.pop() ?? '';
    for (const block of blocks) this.#takeBlock(block);
    this.#wake();
  }

  #takeBlock(block: string): void {
    if (block.startsWith(':')) this.#heartbeats++;
    const [, name, data] = /^event: (.*)\ndata: (.*)$/.exec(block) ?? [];
    if (name !== undefined && data !== undefined) this.#events.push({ name, data: JSON.parse(data) });
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }
}
