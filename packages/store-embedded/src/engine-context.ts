import type { Tables } from './tables.ts';
import type { Task } from './tasks.ts';

/** What the parts of the store work on. */
export interface EngineContext {
  /** Returns the tables in the state that a read sees now (`read-state.ts`). */
  read(): Tables;
  /** Resolves with the result of the task when it is committed and on the disk. The caller knows the type of the result. */
  write<T>(task: Task): Promise<T>;
}

/** A read of so many rows, or of so much text, lets other events run before it answers. */
const LONG_READ_ROWS = 200;
const LONG_READ_UNITS = 100_000;

export async function yieldAfterRead(rows: number, units = 0): Promise<void> {
  if (rows >= LONG_READ_ROWS || units >= LONG_READ_UNITS) await new Promise((resolve) => setImmediate(resolve));
}
