import type { Clock, Jobs, MovableStore } from '@tidemark/core';

/** The engine under test. */
export interface MovingEngine {
  /** Opens a new, empty store as a server does. */
  open(): Promise<MovableStore>;
  /** Opens a new, empty store as the target of an import. */
  openTarget(): Promise<MovableStore>;
  /** Opens a closed store again as a server does. Absent: the engine keeps nothing after `close`. */
  serve?(closed: MovableStore): Promise<MovableStore>;
  /** Returns the jobs in a store of this engine. Absent: jobs are not in the store. */
  jobs?(store: MovableStore, clock: Clock): Jobs;
}

/** What a case gets. Everything it opens is closed afterwards. */
export interface MovingBench {
  readonly engine: MovingEngine;
  open(): Promise<MovableStore>;
  openTarget(): Promise<MovableStore>;
}

export interface MovingCase {
  readonly title: string;
  readonly needs: 'serve' | 'jobs' | null;
  readonly run: (fixture: MovingBench) => Promise<void>;
}
