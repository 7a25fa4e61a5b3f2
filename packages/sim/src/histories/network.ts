import type { DeliveredPage } from './device.ts';
import type { Snapshot } from './snapshot.ts';
import type { PageSize, RequestFate } from './step.ts';

/** What is on its way from a device to the server. */
export interface RequestInFlight {
  readonly token: string | null;
  readonly size: PageSize;
}

/** What is on its way back. */
export interface AnswerInFlight extends DeliveredPage {
  /** What md may have been when the page was made; more than one state only where writers were at work meanwhile. */
  readonly expected: readonly Snapshot[];
}

/** Per direction; whatever would exceed it is lost, the oldest first. */
const IN_FLIGHT_MAX = 8;

/**
 * The way between one device and the server, where everything bad happens: what is sent may be lost or doubled, and
 * what arrives may be any of the things under way, however old. Which of these happens is decided by the history, and
 * so by its seed.
 */
export class Network {
  readonly #requests: RequestInFlight[] = [];
  readonly #answers: AnswerInFlight[] = [];

  send(request: RequestInFlight, fate: RequestFate): void {
    enqueue(this.#requests, request, fate);
  }

  answer(answer: AnswerInFlight, fate: RequestFate): void {
    enqueue(this.#answers, answer, fate);
  }

  nextRequest(pick: number): RequestInFlight | undefined {
    return takeOut(this.#requests, pick);
  }

  nextAnswer(pick: number): AnswerInFlight | undefined {
    return takeOut(this.#answers, pick);
  }
}

function enqueue<T>(queue: T[], item: T, fate: RequestFate): void {
  const copies = { lost: 0, arrives: 1, doubled: 2 }[fate];
  for (let copy = 0; copy < copies; copy++) queue.push(item);
  queue.splice(0, Math.max(0, queue.length - IN_FLIGHT_MAX));
}

function takeOut<T>(queue: T[], pick: number): T | undefined {
  return queue.length === 0 ? undefined : queue.splice(pick % queue.length, 1)[0];
}
