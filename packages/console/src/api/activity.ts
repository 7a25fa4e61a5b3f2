import { TidemarkError } from '@tidemark/backend';
import type { ActivityEvent, ActivityKind } from '@tidemark/protocol';
import { useEffect, useState } from 'react';
import { client } from './client.ts';

export interface ActivityLine {
  readonly key: number;
  readonly event: ActivityEvent;
}

export interface ActivityFilter {
  readonly user?: string;
  readonly client?: string;
  readonly source?: string;
  readonly kinds?: readonly ActivityKind[];
  /** How many events of the last day come first; absent: as many as the server gives. */
  readonly recent?: number;
}

export interface ActivityFeed {
  /** Newest first. */
  readonly lines: readonly ActivityLine[];
  /** Events that the server left out because it is busy, or this page is slow. */
  readonly dropped: number;
  readonly state: 'connecting' | 'live' | 'broken';
}

/** Older lines are forgotten. */
export const LINES_MAX = 500;
/** Events are shown in batches, so that a busy server does not keep the page busy. */
const BATCH_MS = 200;
/** A filter that is being typed does not connect for every letter. */
const SETTLE_MS = 250;
const PAUSE_MS_MIN = 1_000;
const PAUSE_MS_MAX = 30_000;
const NOTHING: ActivityFeed = { lines: [], dropped: 0, state: 'connecting' };

/** Shows what happens on the servers, as it happens. When the connection breaks, it connects again. */
export function useActivity(filter: ActivityFilter, isOn = true): ActivityFeed {
  const [feed, setFeed] = useState(NOTHING);
  const key = JSON.stringify(filter);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key stands for the filter
  useEffect(() => {
    if (!isOn) return;
    setFeed(NOTHING);
    const reader = new FeedReader(filter, setFeed);
    const timer = setTimeout(() => void reader.run(), SETTLE_MS);
    return () => {
      clearTimeout(timer);
      reader.stop();
    };
  }, [key, isOn]);
  return feed;
}

class FeedReader {
  readonly #filter: ActivityFilter;
  readonly #show: (feed: ActivityFeed) => void;
  readonly #over = new AbortController();
  #lines: readonly ActivityLine[] = [];
  #batch: ActivityLine[] = [];
  #dropped = 0;
  #state: ActivityFeed['state'] = 'connecting';
  #timer: ReturnType<typeof setTimeout> | undefined;
  #count = 0;

  constructor(filter: ActivityFilter, show: (feed: ActivityFeed) => void) {
    this.#filter = filter;
    this.#show = show;
  }

  stop(): void {
    this.#over.abort();
    clearTimeout(this.#timer);
  }

  async run(): Promise<void> {
    for (let pauseMs = PAUSE_MS_MIN; !this.#over.signal.aborted; pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)) {
      const onLive = () => {
        pauseMs = PAUSE_MS_MIN;
      };
      const failure = await this.#read(onLive).catch((error: unknown) => error);
      if (this.#over.signal.aborted) return;
      this.#setState('broken');
      if (failure !== undefined && !(failure instanceof TidemarkError)) throw failure;
      await new Promise((resolve) => setTimeout(resolve, pauseMs));
    }
  }

  async #read(onLive: () => void): Promise<void> {
    const onDropped = (count: number) => {
      this.#dropped += count;
      this.#showSoon();
    };
    const onReady = () => {
      onLive();
      this.#setState('live');
    };
    // A stream begins with the last events, which may be shown already if the connection was broken.
    const shown = new Set([...this.#lines, ...this.#batch].map(({ event }) => JSON.stringify(event)));
    for await (const event of client.activity.watch({
      ...this.#filter,
      onDropped,
      onReady,
      signal: this.#over.signal,
    })) {
      if (shown.delete(JSON.stringify(event))) continue;
      this.#batch.push({ key: this.#count++, event });
      this.#showSoon();
    }
  }

  #setState(state: ActivityFeed['state']): void {
    this.#state = state;
    this.#showSoon();
  }

  #showSoon(): void {
    if (this.#over.signal.aborted) return;
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#lines = [...this.#batch.reverse(), ...this.#lines].slice(0, LINES_MAX);
      this.#batch = [];
      this.#show({ lines: this.#lines, dropped: this.#dropped, state: this.#state });
    }, BATCH_MS);
  }
}
