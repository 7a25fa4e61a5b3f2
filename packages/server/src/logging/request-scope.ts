import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<string>();

/** Whatever is logged while `work` runs, however deep inside the core, carries the id of the request. */
export function withRequestId<T>(requestId: string, work: () => T): T {
  return current.run(requestId, work);
}

/** Null: no request is being worked on. */
export function currentRequestId(): string | null {
  return current.getStore() ?? null;
}
