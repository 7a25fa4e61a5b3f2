import { answerJson, type Dice, type FakeBackend } from '@tidemark/testing/kit';

const ANSWER_MS_MAX = 30;

/** Answers queries after a while, and looks whether ever more than one of a partition is under way. */
export class QueryWatch {
  readonly problems: string[] = [];
  queries = 0;
  readonly #underWay = new Map<string, number>();

  constructor(backend: FakeBackend, dice: Dice) {
    // It also vouches for everybody, since it is asked about logins as well.
    backend.on('authenticate', (_, response) => answerJson(response, {}));
    backend.on('query', ({ body }, response) => {
      const partition = JSON.stringify([body.source, body.user_id]);
      const count = (this.#underWay.get(partition) ?? 0) + 1;
      this.queries++;
      this.#underWay.set(partition, count);
      if (count > 1) this.problems.push(`${count} queries of ${partition} at once`);
      // Always the same: a change would be told to devices, whose pulls would cause the next query.
      const answering = setTimeout(() => answerJson(response, { shovel: { n: 1 } }), dice.between(1, ANSWER_MS_MAX));
      // However it ends: with its answer, or with the server that asked.
      response.once('close', () => {
        clearTimeout(answering);
        this.#underWay.set(partition, (this.#underWay.get(partition) ?? 1) - 1);
      });
    });
  }
}
