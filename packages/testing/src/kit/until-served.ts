import { Refusal } from '@tidemark/protocol';

const ATTEMPTS_MAX = 6_000;
const PAUSE_MS = 20;

/** Repeats a call until the store serves it; every earlier error must be `store_unavailable`. */
export async function untilServed<T>(ask: () => Promise<T>): Promise<T> {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'store_unavailable') throw error;
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  throw new Error('nobody ever served again');
}
