import type { ServerResponse } from 'node:http';
import { ACTIVITY_EVENTS_PER_WINDOW_MAX, ACTIVITY_WINDOW_MS } from '../limits.ts';
import type { ActivityFilter } from './activity-filter.ts';

const HEARTBEAT = ':\n\n';
/** A reader is cut off if it is behind at more heartbeats in a row. */
const HEARTBEATS_BEHIND_MAX = 2;

/** Who reads the activity, and the token that allows it. */
export interface ActivityReader {
  readonly user: string;
  readonly tokenHash: string;
}

/**
 * Admits so many events per window and counts the rest. The first events of each window pass, so a busy server shows a
 * sample of what happens.
 */
export class EventBudget {
  #windowStartMs = Number.NEGATIVE_INFINITY;
  #used = 0;

  take(nowMs: number): boolean {
    if (nowMs - this.#windowStartMs >= ACTIVITY_WINDOW_MS) {
      this.#windowStartMs = nowMs;
      this.#used = 0;
    }
    return this.#used++ < ACTIVITY_EVENTS_PER_WINDOW_MAX;
  }
}

/** One reader's stream. Unsent data is bounded: events for a reader that is behind are dropped and counted. */
export class ActivityStream {
  readonly id: string;
  readonly reader: ActivityReader;
  readonly filter: ActivityFilter;
  readonly #response: ServerResponse;
  readonly #budget = new EventBudget();
  #dropped = 0;
  #heartbeatsBehind = 0;
  #isBehind = false;
  #isEnded = false;

  constructor(id: string, reader: ActivityReader, filter: ActivityFilter, response: ServerResponse) {
    this.id = id;
    this.reader = reader;
    this.filter = filter;
    this.#response = response;
    // A socket may break at any moment; its `close` event is all that matters.
    response.on('error', () => undefined);
  }

  /** Counts the event as dropped and returns false if the reader is behind, or has got enough for now. */
  admits(nowMs: number): boolean {
    if (!this.#isBehind && this.#budget.take(nowMs)) return true;
    this.#dropped++;
    return false;
  }

  /** Counts events that another server has dropped. */
  drop(count: number): void {
    this.#dropped += count;
  }

  /** Sends an event that was admitted, after the number of those dropped before it. */
  send(name: string, json: string): void {
    if (this.#isEnded) return;
    const dropped = this.#dropped === 0 ? '' : eventText('dropped', JSON.stringify({ count: this.#dropped }));
    this.#dropped = 0;
    this.#write(dropped + eventText(name, json));
  }

  /** Sends a heartbeat, or the number of dropped events. Cuts off a reader that does not read. */
  beat(): void {
    if (this.#isEnded) return;
    this.#heartbeatsBehind = this.#isBehind ? this.#heartbeatsBehind + 1 : 0;
    if (this.#heartbeatsBehind > HEARTBEATS_BEHIND_MAX) this.#response.destroy();
    else if (!this.#isBehind && this.#dropped > 0) this.send('dropped', this.#takeDropped());
    else if (!this.#isBehind) this.#write(HEARTBEAT);
  }

  /** Ends the stream, with a last event unless the reader is behind. */
  end(lastEvent = ''): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#isBehind) this.#response.destroy();
    else this.#response.end(lastEvent);
  }

  #takeDropped(): string {
    const json = JSON.stringify({ count: this.#dropped });
    this.#dropped = 0;
    return json;
  }

  /** Sends the events with which the stream begins, in one piece. They do not count against its bound. */
  sendFirst(events: readonly (readonly [name: string, json: string])[]): void {
    this.#write(events.map(([name, json]) => eventText(name, json)).join(''));
  }

  #write(text: string): void {
    if (this.#response.write(text) || this.#isBehind) return;
    this.#isBehind = true;
    this.#response.once('drain', () => {
      this.#isBehind = false;
    });
  }
}

/** Returns an event in the format of the wire. JSON has no line breaks, so the data is always one line. */
export function eventText(name: string, json: string): string {
  return `event: ${name}\ndata: ${json}\n\n`;
}
