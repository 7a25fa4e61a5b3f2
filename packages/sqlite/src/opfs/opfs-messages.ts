import type { SqliteRow, SqliteValue } from '../sqlite-driver.ts';

/** What the page asks of the worker. `database` numbers the connections of this worker. */
export interface OpfsCalls {
  /** Takes the files of the pool for this worker. Waits this long for another page to let go of them. */
  start: { readonly pool: string; readonly waitMs: number };
  list: Record<never, never>;
  open: { readonly name: string };
  execute: { readonly database: number; readonly statements: string };
  run: { readonly database: number; readonly statement: string; readonly values: readonly SqliteValue[] };
  all: { readonly database: number; readonly statement: string; readonly values: readonly SqliteValue[] };
  close: { readonly database: number };
}

export interface OpfsAnswers {
  start: null;
  list: readonly string[];
  open: number;
  execute: null;
  run: null;
  all: readonly SqliteRow[];
  close: null;
}

export type OpfsCallName = keyof OpfsCalls;

export interface OpfsRequest<N extends OpfsCallName = OpfsCallName> {
  readonly id: number;
  readonly name: N;
  readonly given: OpfsCalls[N];
}

/** An error crosses as its message and, where the worker knows one, the code of a `ClientError`. */
export type OpfsResponse =
  | { readonly id: number; readonly answer: OpfsAnswers[OpfsCallName] }
  | { readonly id: number; readonly message: string; readonly code?: string };
