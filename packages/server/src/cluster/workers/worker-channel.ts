import type { Metrics } from '../../telemetry/metrics.ts';
import type { FromWorker, StartFailure, ToWorker, WorkerReady } from './worker-message.ts';

/** Where a worker speaks with the process that started it. */
export interface Channel {
  send(message: FromWorker, onSent?: () => void): void;
  onMessage(listener: (message: ToWorker) => void): void;
}

/** How long the others may take to tell what they measured; after that one's own measurements must do. */
const SCRAPE_MS_MAX = 3_000;

/** A worker's side of it. */
export class WorkerChannel {
  readonly #channel: Channel;
  readonly #waiting = new Map<number, (text: string) => void>();
  #metrics: Metrics | null = null;
  #lastId = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.onMessage((message) => this.#take(message));
  }

  /** From here on the metrics of this worker can be asked for. */
  measureWith(metrics: Metrics): void {
    this.#metrics = metrics;
  }

  /** The metrics of all workers together. */
  scrape(metrics: Metrics): Promise<string> {
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(id);
        metrics.text().then(resolve, reject);
      }, SCRAPE_MS_MAX);
      this.#waiting.set(id, (text) => {
        clearTimeout(timer);
        this.#waiting.delete(id);
        resolve(text);
      });
      this.#channel.send({ kind: 'scrape', id });
    });
  }

  ready({ url, adminLogin, generatedPassword, isAdminPasswordIgnored }: WorkerReady): void {
    this.#channel.send({ kind: 'ready', ready: { url, adminLogin, generatedPassword, isAdminPasswordIgnored } });
  }

  /** Resolves when it has been said. */
  failed(failure: StartFailure): Promise<void> {
    return new Promise((resolve) => this.#channel.send({ kind: 'failed', failure }, resolve));
  }

  #take(message: ToWorker): void {
    if (message.kind === 'scraped') this.#waiting.get(message.id)?.(message.text);
    else if (message.kind === 'measure') void this.#measure(message.id);
  }

  async #measure(id: number): Promise<void> {
    const metrics = (await this.#metrics?.measured()) ?? [];
    this.#channel.send({ kind: 'measured', id, metrics });
  }
}

export function channelOf(self: NodeJS.Process): Channel {
  return {
    send: (message, onSent) => {
      if (self.connected) self.send?.(message, undefined, undefined, () => onSent?.());
      else onSent?.();
    },
    onMessage: (listener) => void self.on('message', (message) => listener(message as ToWorker)),
  };
}
