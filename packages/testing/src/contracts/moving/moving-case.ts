import type { Clock, Jobs, MovableStore } from '@tidemark/core';

/** What an engine brings to the contract of stores that can be carried elsewhere. */
export interface MovingEngine {
  /** New and empty, as a server opens it. */
  open(): Promise<MovableStore>;
  /** New and empty, to be filled. */
  openTarget(): Promise<MovableStore>;
  /** Opens the place of a closed store as a server does. Absent: the engine keeps nothing beyond `close`. */
  serve?(closed: MovableStore): Promise<MovableStore>;
  /** The jobs that live in a store of this engine. Absent: they live elsewhere. */
  jobs?(store: MovableStore, clock: Clock): Jobs;
}

/** What a case works with: everything it opens is closed for it. */
export interface MovingBench {
  readonly engine: MovingEngine;
  open(): Promise<MovableStore>;
  openTarget(): Promise<MovableStore>;
}

export interface MovingCase {
  readonly title: string;
  readonly needs: 'serve' | 'jobs' | null;
  readonly run: (bench: MovingBench) => Promise<void>;
}
