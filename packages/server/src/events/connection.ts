import type { ServerResponse } from 'node:http';
import { eventBytes } from './event-bytes.ts';

/** The device that listens, and the token it does so by. */
export interface Listener {
  readonly user: string;
  readonly client: string;
  readonly tokenId: string;
}

const PULL = eventBytes('pull', {});

/**
 * One device that listens. What it has not read yet is bounded: once it is behind, it is told nothing more, and when it
 * has caught up, that it should pull everything.
 */
export class Connection {
  readonly listener: Listener;
  readonly sinceMs: number;
  readonly #response: ServerResponse;
  /** How often it was found behind in a row; 0: it keeps up. */
  #turnsBehind = 0;
  #isBehind = false;
  #hasMissed = false;
  #isEnded = false;

  constructor(listener: Listener, response: ServerResponse, sinceMs = 0) {
    this.listener = listener;
    this.sinceMs = sinceMs;
    this.#response = response;
    // A socket may break at any moment; that it is closed is all there is to know about it.
    response.on('error', ignore);
  }

  /** False: it has ended, or it is behind and will be told to pull everything instead. */
  send(bytes: Buffer): boolean {
    if (this.#isEnded) return false;
    if (this.#isBehind) {
      this.#hasMissed = true;
      return false;
    }
    this.#write(bytes);
    return true;
  }

  /** For what need not be made up for. */
  sendIfKeepingUp(bytes: Buffer): void {
    if (!this.#isBehind && !this.#isEnded) this.#write(bytes);
  }

  /** How often in a row it has been found behind, this time included. */
  countTurnsBehind(): number {
    this.#turnsBehind = this.#isBehind ? this.#turnsBehind + 1 : 0;
    return this.#turnsBehind;
  }

  /** With a last word, where there is one. Whoever is behind would not read it. */
  end(lastWord?: Buffer): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    if (this.#isBehind) this.#response.destroy();
    else this.#response.end(lastWord);
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
