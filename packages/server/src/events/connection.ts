import type { ServerResponse } from 'node:http';
import type { SyncEvents } from '@tidemark/protocol';

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
  readonly tokenId: string;
}

const PULL = eventBytes('pull', {});

/**
 * The event stream of one device. Unsent data is bounded: a device that falls behind receives no more events, and
 * when it has caught up, an event that makes it pull everything.
 */
export class Connection {
  readonly listener: Listener;
  readonly sinceMs: number;
  readonly #response: ServerResponse;
  /** How often in a row the device was found behind; 0 means that it keeps up. */
  #heartbeatsBehind = 0;
  #isBehind = false;
  #hasMissed = false;
  #isEnded = false;

  constructor(listener: Listener, response: ServerResponse, sinceMs = 0) {
    this.listener = listener;
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
