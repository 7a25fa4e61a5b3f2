import { COMMIT_ATTEMPTS_MAX, Refusal } from '@tidemark/protocol';

/** Tries until an attempt gives something. Null means that somebody else was faster and the attempt must look again. */
export async function retryOnConflict<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let count = 0; count < COMMIT_ATTEMPTS_MAX; count++) {
    const outcome = await attempt();
    if (outcome !== null) return outcome;
  }
  throw new Refusal('write_conflict', `other callers changed the same entry ${COMMIT_ATTEMPTS_MAX} times in a row`);
}
