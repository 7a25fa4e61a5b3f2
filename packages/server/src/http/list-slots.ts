import { Refusal } from '@tidemark/protocol';
import { FILTERED_LISTS_MAX, FILTERED_LISTS_PER_TOKEN_MAX, FILTERED_LISTS_RETRY_AFTER_S } from '../limits.ts';
import { KeyedLimit } from '../primitives/keyed-limit.ts';

/** Limits the filtered and sorted lists that are made at once: each reads up to all objects of a source. */
export class ListSlots {
  readonly #ofTokens = new KeyedLimit(FILTERED_LISTS_PER_TOKEN_MAX, () => {
    const detail = `the token has ${FILTERED_LISTS_PER_TOKEN_MAX} filtered or sorted lists under way; wait for one of them`;
    return new Refusal('rate_limited', detail, [], FILTERED_LISTS_RETRY_AFTER_S);
  });
  readonly #ofAll = new KeyedLimit(FILTERED_LISTS_MAX, () => {
    const detail = `${FILTERED_LISTS_MAX} filtered or sorted lists are under way at this server`;
    return new Refusal('overloaded', detail, [], FILTERED_LISTS_RETRY_AFTER_S);
  });

  /** Runs the work if there is room for it, or refuses. */
  run<T>(tokenHash: string, work: () => Promise<T>): Promise<T> {
    return this.#ofTokens.run(tokenHash, () => this.#ofAll.run('', work));
  }
}
