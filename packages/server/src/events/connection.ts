import type { ServerResponse } from 'node:http';
import type { SyncEvents } from '@tidemark/protocol';
import type { PageSelection } from './page-selection.ts';

/** A comment line, which shows the device, the server and all proxies that the connection is alive. */
export const HEARTBEAT = Buffer.from(':\n\n');

/** Returns an event in the format of the wire. JSON has no line breaks, so the data is always one line. */
export function eventBytes<Name extends keyof SyncEvents>(name: Name, data: SyncEvents[Name]): Buffer {
  return Buffer.from(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** A device that listens, and the token it uses. */
export interface Listener {
  readonly user: string;
  readonly client: string;
  readonly tokenHash: string;
}

export interface ConnectionTerms {
  readonly sinceMs: number;
  /** The sources whose pages the device takes with events. */
  readonly pages: PageSelection;
}

const PULL = eventBytes('pull', {});

/**
 * The event stream of one device. Unsent data is bounded: a device that falls behind receives no more events, and
 * when it has caught up, an event that makes it pull everything.
 */
export class Connection {
  readonly listener: Listener;
  readonly sinceMs: number;
  readonly pages: PageSelection;
  readonly #response: ServerResponse;
  /** How often in a row the device was found behind; 0 means that it keeps up. */
  #heartbeatsBehind = 0;
  #isBehind = false;
  #hasMissed = false;
  #isEnded = false;

  constructor(listener: Listener, response: ServerResponse, { sinceMs, pages }: ConnectionTerms) {
    this.listener = listener;
    this.pages = pages;
    this.sinceMs = sinceMs;
    this.#response = response;
    // A socket may break at any moment; its `close` event is all that matters.
    response.on('error', ignore);
  }

  /** Returns false if the stream has ended, or if the device is behind and will be told to pull everything instead. */
  send(bytes: Buffer): boolean {
    if (this.#isEnded) return false;
    if (this.#isBehind) {
      this.#hasMissed = true;
      return false;
    }
    this.#write(bytes);
    return true;
  }

  /** Whether the device has read everything that was sent, as far as is known here. */
  get isKeepingUp(): boolean {
    return !this.#isBehind && this.#response.writableLength === 0;
  }

  /** Sends an event that need not be made up for. */
  sendIfKeepingUp(bytes: Buffer): void {
    if (!this.#isBehind && !this.#isEnded) this.#write(bytes);
  }

  /** Returns how often in a row the device was found behind, including this time. */
  countHeartbeatsBehind(): number {
    this.#heartbeatsBehind = this.#isBehind ? this.#heartbeatsBehind + 1 : 0;
    return this.#heartbeatsBehind;
  }

  /** Ends the stream, with a last event unless the device is behind. */
  end(lastEvent?: Buffer): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#isBehind) this.#response.destroy();
    else this.#response.end(lastEvent);
  }

  destroy(): void {
    this.#isEnded = true;
    this.#response.destroy();
  }

  #write(bytes: Buffer): void {
    if (this.#response.write(bytes)) return;
    this.#isBehind = true;
    this.#response.once('drain', () => this.#catchUp());
  }

  #catchUp(): void {
    this.#isBehind = false;
    if (!this.#hasMissed || this.#isEnded) return;
    this.#hasMissed = false;
    this.#write(PULL);
  }
}

function ignore(): void {}
