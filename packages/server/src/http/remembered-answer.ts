import type { Bearer } from '@tidemark/core';
import type { Repeatable, Route } from './route.ts';

/** The last answer of a connection that may be sent again, and the request that it answered. */
export interface RememberedAnswer {
  readonly method: string;
  readonly bearer: Bearer | null;
  readonly servedBy: Route | null;
  readonly url: string;
  readonly httpVersion: string;
  readonly rawHeaders: readonly string[];
  /** Each unit stands for one byte. */
  readonly body: string;
  /** Names and values alternate. */
  readonly headers: readonly string[];
  readonly text: string;
  readonly repeatable: Repeatable;
}
