import { type AckRequest, PULL_SOURCES_MAX } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import { ACKNOWLEDGE_EVERY_MS, ACKNOWLEDGE_LIVE_SPREAD_MS, ACKNOWLEDGE_MS_MAX } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import { parseScope, type RowScope, scopeText } from '../state/group-rows.ts';
import { fraction } from '../transport/pause-ms.ts';
import { readAnything } from '../transport/read-answer.ts';
import type { SessionCaller } from '../transport/session-caller.ts';

/** Statuses of a server that is older than the call. */
const NO_ROUTE_STATUSES: ReadonlySet<number | null> = new Set([404, 405, 501]);

/**
 * Tells the server which tokens the device holds after a catch-up, so that its receipts need not wait for the next pull.
 * One that fails is not repeated: the next pull presents the same tokens. Only `sync()` and `close()` wait for these calls,
 * and not for long.
 */
export class Acknowledger {
  readonly #platform: Platform;
  readonly #caller: SessionCaller;
  readonly #clientId: () => string | null;
  /** By source, or by source and group (`scopeText`). */
  readonly #tokens = new Map<string, string>();
  #cancel: (() => void) | null = null;
  readonly #underWay = new Set<Promise<void>>();
  #controller = new AbortController();
  #dueAtMs = 0;
  #nextAtMs = Number.NEGATIVE_INFINITY;
  #isSupported = true;

  /** `clientId` returns the id of the device that is signed in; null: none is, or there is no network. */
  constructor(platform: Platform, caller: SessionCaller, clientId: () => string | null) {
    this.#platform = platform;
    this.#caller = caller;
    this.#clientId = clientId;
  }

  /** Sends the token of a source or group that was pulled, together with others that follow soon. */
  note(place: RowScope, token: string): void {
    this.#noteAfter(place, token, 0);
  }

  /** Does the same some time later, because all devices that listen get the page of an event at the same moment. */
  noteLive(place: RowScope, token: string): void {
    // Drawing again for every page would bring the call forward.
    if (this.#cancel === null) this.#noteAfter(place, token, fraction(this.#platform) * ACKNOWLEDGE_LIVE_SPREAD_MS);
    else this.#tokens.set(scopeText(place), token);
  }

  #noteAfter(place: RowScope, token: string, leastMs: number): void {
    if (!this.#isSupported) return;
    this.#tokens.set(scopeText(place), token);
    const pauseMs = Math.min(ACKNOWLEDGE_EVERY_MS, Math.max(0, this.#nextAtMs - this.#platform.nowMs()));
    const delayMs = Math.round(Math.max(leastMs, pauseMs));
    const dueAtMs = this.#platform.nowMs() + delayMs;
    if (this.#cancel !== null && this.#dueAtMs <= dueAtMs) return;
    this.#cancel?.();
    this.#dueAtMs = dueAtMs;
    this.#cancel = this.#platform.after(delayMs, () => {
      this.#cancel = null;
      this.#send();
    });
  }

  /** Sends at once what waits. Resolves when it is sent, has failed, or takes longer than `ACKNOWLEDGE_MS_MAX`. */
  async flush(): Promise<void> {
    this.#cancel?.();
    this.#cancel = null;
    if (this.#tokens.size > 0) this.#send();
    await this.#sentOrLate();
  }

  #sentOrLate(): Promise<void> {
    if (this.#underWay.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const cancel = this.#platform.after(ACKNOWLEDGE_MS_MAX, resolve);
      void Promise.all(this.#underWay).then(() => {
        cancel();
        resolve();
      });
    });
  }

  /** A pull that is about to be sent presents the tokens of these sources itself. */
  skip(sources: Iterable<string>): void {
    const presented = new Set(sources);
    for (const place of this.#tokens.keys()) if (presented.has(parseScope(place).source)) this.#tokens.delete(place);
  }

  /** Drops what was not sent, because the session has ended or the device closes. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#tokens.clear();
    this.#controller.abort();
    this.#controller = new AbortController();
    this.#isSupported = true;
  }

  #send(): void {
    const call = this.#call().finally(() => this.#underWay.delete(call));
    this.#underWay.add(call);
  }

  async #call(): Promise<void> {
    const clientId = this.#clientId();
    const sources = [...heldIn(this.#tokens)].slice(0, PULL_SOURCES_MAX);
    this.#tokens.clear();
    if (clientId === null || sources.length === 0) return;
    this.#nextAtMs = this.#platform.nowMs() + ACKNOWLEDGE_EVERY_MS;
    const body = { client_id: clientId, sources: Object.fromEntries(sources) };
    const { signal } = this.#controller;
    try {
      await this.#caller.ask({ method: 'POST', path: '/ack', body, read: readAnything, signal });
    } catch (error) {
      if (error instanceof ClientError && NO_ROUTE_STATUSES.has(error.status)) this.#isSupported = false;
    }
  }
}

/** The tokens as an acknowledgement names them: by source, or by source and group. */
function heldIn(tokens: ReadonlyMap<string, string>): ReadonlyMap<string, AckRequest['sources'][string]> {
  const held = new Map<string, AckRequest['sources'][string]>();
  for (const [text, token] of tokens) {
    const { source, group } = parseScope(text);
    const known = held.get(source);
    const others = typeof known === 'object' ? Object.entries(known.groups) : [];
    held.set(source, group === undefined ? token : { groups: Object.fromEntries([...others, [group, token]]) });
  }
  return held;
}
