import type { DeliveredPage } from '../model/device.ts';
import type { Snapshot } from '../model/objects.ts';
import type { Delivery, PageSize } from './step.ts';

/** A request between a device and the server. */
export interface RequestInFlight {
  readonly token: string | null;
  readonly size: PageSize;
}

/** An answer between the server and a device. */
export interface AnswerInFlight extends DeliveredPage {
  /** The states of md that the page fits; more than one only where writes ran at the same time. */
  readonly expected: readonly Snapshot[];
}

/** Per direction. When there are more, the oldest are lost. */
const IN_FLIGHT_MAX = 8;

/**
 * The network between one device and the server. It loses, doubles and reorders messages as the history says, and so as
 * its seed says.
 */
export class Network {
  readonly #requests: RequestInFlight[] = [];
  readonly #answers: AnswerInFlight[] = [];

  send(request: RequestInFlight, delivery: Delivery): void {
    enqueue(this.#requests, request, delivery);
  }

  answer(answer: AnswerInFlight, delivery: Delivery): void {
    enqueue(this.#answers, answer, delivery);
  }

  nextRequest(pick: number): RequestInFlight | undefined {
    return takeOut(this.#requests, pick);
  }

  nextAnswer(pick: number): AnswerInFlight | undefined {
    return takeOut(this.#answers, pick);
  }
}

function enqueue<T>(queue: T[], item: T, delivery: Delivery): void {
  const copies = { lost: 0, arrives: 1, doubled: 2 }[delivery];
  for (let copy = 0; copy < copies; copy++) queue.push(item);
  queue.splice(0, Math.max(0, queue.length - IN_FLIGHT_MAX));
}

function takeOut<T>(queue: T[], pick: number): T | undefined {
  return queue.length === 0 ? undefined : queue.splice(pick % queue.length, 1)[0];
}
