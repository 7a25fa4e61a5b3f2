import type { Metrics } from '../../telemetry/metrics.ts';
import type { FromWorker, StartFailure, ToWorker, WorkerReady } from './worker-message.ts';

/** The IPC channel between a worker and its supervisor. */
export interface Channel {
  send(message: FromWorker, onSent?: () => void): void;
  onMessage(listener: (message: ToWorker) => void): void;
}

/** How long other workers may take to report metrics; after that only those of this worker are returned. */
const SCRAPE_MS_MAX = 3_000;

/** The worker's side of the channel. */
export class WorkerChannel {
  readonly #channel: Channel;
  readonly #waiting = new Map<number, (text: string) => void>();
  #metrics: Metrics | null = null;
  #lastId = 0;

  constructor(channel: Channel) {
    this.#channel = channel;
    channel.onMessage((message) => this.#take(message));
  }

  /** Sets the metrics that this worker reports. */
  measureWith(metrics: Metrics): void {
    this.#metrics = metrics;
  }

  /** Returns the metrics of all workers together. */
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

  /** Resolves when the message has been sent. */
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
