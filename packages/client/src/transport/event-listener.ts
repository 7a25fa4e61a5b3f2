import { type LiveChange, PULL_SOURCES_MAX, type SyncEvents } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import { EVENTS_QUERY_UNITS_MAX, HEARTBEAT_MS_DEFAULT, HEARTBEATS_MISSED_MAX, POLL_MS_LIVE } from '../limits.ts';
import type { Platform } from '../ports/platform.ts';
import type { TextResponse } from './lines.ts';
import { fraction, pauseMs } from './pause-ms.ts';
import { readPage } from './read-answer.ts';
import { readEvents, type ServerEvent } from './read-events.ts';
import type { SessionCaller } from './session-caller.ts';
import { timeLimit } from './wire.ts';

export interface ServerEventHooks {
  /** Asks to pull this source, or all sources if null. */
  onPull(source: string | null): void;
  /** Asks to pull all sources, which may be others than before. */
  onSourcesChanged(): void;
  /** Called with a change and its page. The signal is aborted when the session ends. */
  onPage(change: LiveChange, signal: AbortSignal): void;
  onPing(data: unknown): void;
  /** Called when the event stream opens or ends. */
  onLive(isLive: boolean): void;
  onSessionEnded(error: ClientError): void;
}

export interface ServerEventOptions {
  readonly pollMs: number;
  /** False: the device only polls. */
  readonly usesStream: boolean;
  /** The sources whose pages the stream should carry; null: all. */
  readonly sources: readonly string[] | null;
}

/** Notices changes at the server by an event stream, which is reopened when it breaks, and by polling. */
export class ServerEventListener {
  readonly #platform: Platform;
  readonly #caller: SessionCaller;
  readonly #hooks: ServerEventHooks;
  readonly #options: ServerEventOptions;
  #controller: AbortController | null = null;
  #cancelPoll: () => void = () => undefined;
  #isLive = false;
  #failures = 0;
  #endPause: () => void = () => undefined;

  constructor(platform: Platform, caller: SessionCaller, hooks: ServerEventHooks, options: ServerEventOptions) {
    this.#platform = platform;
    this.#caller = caller;
    this.#hooks = hooks;
    this.#options = options;
  }

  start(): void {
    if (this.#controller !== null) return;
    this.#controller = new AbortController();
    this.#failures = 0;
    this.#armPoll();
    if (this.#options.usesStream) void this.#listen(this.#controller.signal);
  }

  stop(): void {
    this.#controller?.abort();
    this.#controller = null;
    this.#cancelPoll();
    this.#setLive(false);
  }

  /** Opens the stream now instead of after the pause that follows a failure. A pause that the server asked for stays. */
  retryNow(): void {
    this.#endPause();
  }

  async #listen(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const end = await this.#hear(signal);
      if (signal.aborted) return;
      this.#setLive(false);
      if (end instanceof ClientError) this.#hooks.onSessionEnded(end);
      if (end === 'no_streams' || end instanceof ClientError) return;
      this.#failures++;
      const isOrdered = end.retryAfterMs !== null;
      await this.#pause(pauseMs(this.#platform, this.#failures, end.retryAfterMs), isOrdered, signal);
    }
  }

  /** Reads one stream until it ends. Returns the error that has ended the session, if one has. */
  async #hear(signal: AbortSignal): Promise<ClientError | 'no_streams' | { readonly retryAfterMs: number | null }> {
    const silence = timeLimit(this.#platform, signal, HEARTBEAT_MS_DEFAULT * HEARTBEATS_MISSED_MAX);
    try {
      const response = await this.#caller.open({
        path: eventsPath(this.#options.sources),
        accept: 'text/event-stream',
        signal: silence.signal,
      });
      if (!response.body && (response as TextResponse).texts === undefined) return 'no_streams';
      for await (const event of readEvents(response, () => silence.restart(), silence.signal)) {
        this.#take(event, signal);
        // Two listeners with the same device id would only replace each other.
        if (event.name === 'ended' && codeOf(event) === 'replaced') return { retryAfterMs: POLL_MS_LIVE };
        if (event.name === 'ready') silence.extend(heartbeatMs(event) * HEARTBEATS_MISSED_MAX);
      }
      return { retryAfterMs: null };
    } catch (error) {
      if (!(error instanceof ClientError)) return { retryAfterMs: null };
      const { code, retryAfterMs } = error;
      return code === 'sign_in_required' || code === 'signed_out' ? error : { retryAfterMs };
    } finally {
      silence.end();
    }
  }

  #take({ name, data }: ServerEvent, signal: AbortSignal): void {
    const { sources } = (data ?? {}) as { readonly sources?: unknown };
    if (name === 'ready') {
      this.#failures = 0;
      this.#setLive(true);
      // Changes before the stream was open are not announced.
      this.#hooks.onPull(null);
    } else if (name === 'ended' && codeOf({ name, data }) === 'client_wiped') {
      // The answer to the pull says the same, and is sure to be about the session of now.
      this.#hooks.onPull(null);
    } else if (name === 'changed') this.#takeChange(data, signal);
    else if (name === 'pull') this.#hooks.onSourcesChanged();
    else if (name === 'outcomes') this.#hooks.onPull(null);
    else if (name === 'ping') {
      this.#hooks.onPing(data);
      for (const named of Array.isArray(sources) ? sources : [null]) this.#hooks.onPull(named);
    }
  }

  /** A change without a page that the device understands is a hint. */
  #takeChange(data: unknown, signal: AbortSignal): void {
    const change = readChange(data);
    if (change === null || !('page' in change)) this.#hooks.onPull(change?.source ?? null);
    else this.#hooks.onPage(change, signal);
  }

  #setLive(isLive: boolean): void {
    if (this.#isLive === isLive) return;
    this.#isLive = isLive;
    if (this.#controller !== null) this.#armPoll();
    this.#hooks.onLive(isLive);
  }

  /** Varies by a quarter, so that devices started together do not poll together. */
  #armPoll(): void {
    this.#cancelPoll();
    const everyMs = this.#isLive ? POLL_MS_LIVE : this.#options.pollMs;
    this.#cancelPoll = this.#platform.after(Math.round(everyMs * (0.75 + fraction(this.#platform) / 2)), () => {
      this.#hooks.onPull(null);
      this.#armPoll();
    });
  }

  #pause(ms: number, isOrdered: boolean, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        this.#endPause = () => undefined;
        signal.removeEventListener('abort', end);
        resolve();
      };
      const cancel = this.#platform.after(ms, end);
      if (!isOrdered) this.#endPause = end;
      signal.addEventListener('abort', end);
    });
  }
}

const ALL_PAGES_PATH = '/events?pages=*';

function eventsPath(sources: readonly string[] | null): string {
  if (sources === null) return ALL_PAGES_PATH;
  const query = sources.map((source) => `pages=${encodeURIComponent(source)}`).join('&');
  const isNamed = sources.length <= PULL_SOURCES_MAX && query.length <= EVENTS_QUERY_UNITS_MAX;
  return isNamed ? `/events?${query}` : ALL_PAGES_PATH;
}

function readChange(data: unknown): SyncEvents['changed'] | null {
  const { source, from, version, page } = (data ?? {}) as { readonly [name: string]: unknown };
  if (typeof source !== 'string') return null;
  if (typeof from !== 'string') return { source };
  try {
    const told = typeof version === 'number' ? { version } : {};
    return { source, from, ...told, page: readPage(page) };
  } catch {
    return { source };
  }
}

function codeOf({ data }: ServerEvent): unknown {
  return ((data ?? {}) as { readonly code?: unknown }).code;
}

function heartbeatMs({ data }: ServerEvent): number {
  const { heartbeat_s: seconds } = (data ?? {}) as { readonly heartbeat_s?: unknown };
  return typeof seconds === 'number' && seconds > 0 ? seconds * 1_000 : HEARTBEAT_MS_DEFAULT;
}
