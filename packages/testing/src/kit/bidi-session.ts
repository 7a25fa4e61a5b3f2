import { PATIENCE_MS } from './patience.ts';

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

interface Message {
  readonly type: 'success' | 'error' | 'event';
  readonly id?: number;
  readonly result?: unknown;
  readonly error?: string;
  readonly message?: string;
  readonly method?: string;
  readonly params?: unknown;
}

/** A session of WebDriver BiDi, the W3C's protocol that drives browsers, as far as tests need it. */
export class BidiSession {
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onEvent: (name: string, params: unknown) => void;
  #lastId = 0;

  private constructor(socket: WebSocket, onEvent: (name: string, params: unknown) => void) {
    this.#socket = socket;
    this.#onEvent = onEvent;
    socket.addEventListener('message', ({ data }) => this.#take(JSON.parse(String(data)) as Message));
    socket.addEventListener('close', () => this.#end());
  }

  static async open(url: string, onEvent: (name: string, params: unknown) => void): Promise<BidiSession> {
    if (globalThis.WebSocket === undefined) {
      throw new Error('Node.js 20 needs NODE_OPTIONS=--experimental-websocket to drive a browser by WebDriver BiDi');
    }
    const socket = new WebSocket(url);
    await new Promise((resolve, reject) => {
      socket.addEventListener('open', resolve);
      socket.addEventListener('error', () => reject(new Error(`the browser does not answer at ${url}`)));
    });
    const session = new BidiSession(socket, onEvent);
    await session.send('session.new', { capabilities: {} });
    return session;
  }

  /** Fails when the browser reports an error, is gone, or does not answer for minutes. */
  send(method: string, params: object): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise<unknown>((resolve, reject) => {
      const late = () => reject(new Error(`${method}: no answer after ${PATIENCE_MS} ms: ${JSON.stringify(params)}`));
      const timer = setTimeout(late, PATIENCE_MS);
      const settled = () => {
        clearTimeout(timer);
        this.#waiting.delete(id);
      };
      this.#waiting.set(id, {
        resolve: (result) => {
          settled();
          resolve(result);
        },
        reject: (error) => {
          settled();
          reject(error);
        },
      });
      if (this.#socket.readyState !== this.#socket.OPEN) this.#end();
      else this.#socket.send(JSON.stringify({ id, method, params }));
    });
  }

  #take({ type, id = 0, result, error, message, method = '', params }: Message): void {
    if (type === 'event') this.#onEvent(method, params);
    else if (type === 'success') this.#waiting.get(id)?.resolve(result);
    else this.#waiting.get(id)?.reject(new Error(`${error}: ${message}`));
  }

  #end(): void {
    for (const { reject } of this.#waiting.values()) reject(new Error('the browser is gone'));
  }
}
