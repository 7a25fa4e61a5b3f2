import type { NetworkHints, Platform } from '@tidemark/client';
import { Rng } from '../random/rng.ts';
import { seededRandom } from '../random/seeded-random.ts';

/** What the network does to messages. Parts are from 0, never, to 1, always. */
export interface NetworkConditions {
  /** How long a request takes on its way, and an answer on its way back, in milliseconds of the device. */
  readonly delayMs: number;
  /** The part of requests that get lost before the server sees them. */
  readonly lostRequests: number;
  /** The part of answers that get lost after the server has done what was asked. */
  readonly lostAnswers: number;
  /** The part of requests that reach the server twice. */
  readonly doubledRequests: number;
}

const GOOD: NetworkConditions = { delayMs: 0, lostRequests: 0, lostAnswers: 0, doubledRequests: 0 };
/** Chances are drawn as whole parts of this. */
const CHANCES = 10_000;

/** The network between devices and a server of a test. It is good until the test changes it. */
export class TestNetwork {
  readonly #serve: Platform['fetch'];
  readonly #after: Platform['after'];
  readonly #rng: Rng;
  readonly #listeners = new Set<() => void>();
  /** Requests and streams under way. */
  readonly #open = new Set<AbortController>();
  #conditions = GOOD;
  #isOnline = true;

  /** The same seed loses the same messages. */
  constructor(serve: Platform['fetch'], after: Platform['after'], seed: number) {
    this.#serve = serve;
    this.#after = after;
    this.#rng = new Rng(seededRandom(seed));
  }

  /** What platforms tell apps about the network. */
  readonly hints: NetworkHints = {
    isOnline: () => this.#isOnline,
    onChange: (listener) => {
      this.#listeners.add(listener);
      return () => this.#listeners.delete(listener);
    },
  };

  /** The number of requests and event streams under way. */
  get underWay(): number {
    return this.#open.size;
  }

  /** Cuts everything under way. Devices are told, as by a phone in flight mode. */
  goOffline(): void {
    this.#setOnline(false);
    this.cut();
  }

  goOnline(): void {
    this.#setOnline(true);
  }

  /** Cuts every request and stream under way, as a passing tunnel would. */
  cut(): void {
    for (const controller of [...this.#open]) controller.abort(new TypeError('the connection broke'));
  }

  /** Changes what happens to messages from now on; what is not named stays as it is. */
  set(conditions: Partial<NetworkConditions>): void {
    this.#conditions = { ...this.#conditions, ...conditions };
  }

  /** Makes the network good again, and lets devices online. */
  reset(): void {
    this.#conditions = GOOD;
    this.goOnline();
  }

  /** Carries a request of a device to the server and back. */
  readonly fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (!this.#isOnline) throw new TypeError('there is no network');
    const controller = new AbortController();
    const signal = AbortSignal.any([controller.signal, ...(init.signal ? [init.signal] : [])]);
    const end = () => this.#open.delete(controller);
    this.#open.add(controller);
    signal.addEventListener('abort', end);
    try {
      const response = await this.#carry(url, { ...init, signal });
      // A stream stays open until somebody ends it.
      if (!isStream(response)) end();
      return response;
    } catch (error) {
      end();
      throw error;
    }
  };

  async #carry(url: string, init: RequestInit & { readonly signal: AbortSignal }): Promise<Response> {
    const { delayMs, lostRequests, lostAnswers, doubledRequests } = this.#conditions;
    await this.#delay(delayMs, init.signal);
    if (this.#happens(lostRequests)) throw new TypeError('the request got lost');
    if (this.#happens(doubledRequests)) await this.#serve(url, init).catch(() => undefined);
    const response = await this.#serve(url, init);
    if (!isStream(response) && this.#happens(lostAnswers)) throw new TypeError('the answer got lost');
    await this.#delay(delayMs, init.signal);
    return response;
  }

  #happens(part: number): boolean {
    return this.#rng.below(CHANCES) < part * CHANCES;
  }

  async #delay(ms: number, signal: AbortSignal): Promise<void> {
    if (ms > 0) {
      await new Promise<void>((resolve) => {
        const cancel = this.#after(ms, resolve);
        signal.addEventListener('abort', () => {
          cancel();
          resolve();
        });
      });
    }
    if (signal.aborted) throw signal.reason as Error;
  }

  #setOnline(isOnline: boolean): void {
    if (this.#isOnline === isOnline) return;
    this.#isOnline = isOnline;
    for (const listener of [...this.#listeners]) listener();
  }
}

function isStream(response: Response): boolean {
  return response.headers.get('content-type')?.startsWith('text/event-stream') === true;
}
