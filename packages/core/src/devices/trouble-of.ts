import { Refusal, type Trouble } from '@tidemark/protocol';

/** What is not a refusal is a fault of ours, and not of the source. */
export function troubleOf(error: unknown): Trouble {
  if (!(error instanceof Refusal)) throw error;
  return { code: error.code, detail: error.message };
}
