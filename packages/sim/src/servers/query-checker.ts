import { answerJson, type Dice, type FakeBackend } from '@tidemark/testing/kit';

const ANSWER_MS_MAX = 30;

/** Answers queries after a while, and checks that there is never more than one of a partition at a time. */
export class QueryChecker {
  readonly problems: string[] = [];
  /** How many queries arrived. */
  count = 0;
  readonly #open = new Map<string, number>();

  constructor(backend: FakeBackend, dice: Dice) {
    // The servers ask it about logins as well.
    backend.on('authenticate', (_, response) => answerJson(response, {}));
    backend.on('query', ({ body }, response) => {
      const partition = JSON.stringify([body.source, body.user_id]);
      const open = (this.#open.get(partition) ?? 0) + 1;
      this.count++;
      this.#open.set(partition, open);
      if (open > 1) this.problems.push(`${open} queries of ${partition} at once`);
      // The answer never changes: a change would make devices pull, and each pull would cause the next query.
      const answering = setTimeout(() => answerJson(response, { shovel: { n: 1 } }), dice.between(1, ANSWER_MS_MAX));
      // It closes with the answer, or with the death of the server that asked.
      response.once('close', () => {
        clearTimeout(answering);
        this.#open.set(partition, (this.#open.get(partition) ?? 1) - 1);
      });
    });
  }
}
