import type { Bearer } from '@tidemark/core';
import type { Admission } from './every-request.ts';
import type { Repeatable, Route } from './route.ts';

/** The last answer of a connection that may be sent again, and the request that it answered. */
export interface RememberedAnswer {
  readonly method: string;
  /** Null on public routes. */
  readonly caller: { readonly bearer: Bearer; readonly admission: Admission } | null;
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
