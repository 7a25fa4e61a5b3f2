import { type PartialError, Refusal } from '@tidemark/protocol';

/** What is not a refusal is a fault of ours, and not of the source. */
export function partialErrorOf(error: unknown): PartialError {
  if (!(error instanceof Refusal)) throw error;
  return { code: error.code, detail: error.message };
}
