import { COMMIT_ATTEMPTS_MAX, Refusal } from '@tidemark/protocol';

interface RetryOptions {
  /** What other callers change, for the message of the refusal. */
  readonly subject?: string;
  readonly attemptsMax?: number;
}

/**
 * Repeats an attempt while it returns null, which means that another caller was faster. An attempt that is a retry must
 * read again what it depends on. Throws `write_conflict` at last.
 */
export async function retryOnConflict<T>(
  attempt: (isRetry: boolean) => Promise<T | null>,
  options: RetryOptions = {},
): Promise<T> {
  const { subject = 'the same data', attemptsMax = COMMIT_ATTEMPTS_MAX } = options;
  for (let count = 0; count < attemptsMax; count++) {
    const outcome = await attempt(count > 0);
    if (outcome !== null) return outcome;
  }
  throw new Refusal('write_conflict', `other callers changed ${subject} ${COMMIT_ATTEMPTS_MAX} times in a row`);
}
