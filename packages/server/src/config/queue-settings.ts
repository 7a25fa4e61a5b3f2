import { nameProblem } from '@tidemark/protocol';
import { type Static, Type } from '@tidemark/protocol/typebox';

const WORKERS_MAX = 1_000;
const PER_SECOND_MAX = 10_000;
const QUEUES_MAX = 1_000;

/** Settings for the jobs of one queue. */
export const QueueSetting = Type.Object(
  {
    name: Type.Refine(
      Type.String({ rule: 'must be a name of 1 to 255 bytes without control characters' }),
      (value) => nameProblem('source', value) === null,
    ),
    workers: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: WORKERS_MAX,
        rule: `must be a whole number from 1 to ${WORKERS_MAX}`,
      }),
    ),
    per_second: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: PER_SECOND_MAX,
        rule: `must be a whole number from 1 to ${PER_SECOND_MAX}`,
      }),
    ),
  },
  { additionalProperties: false },
);
export type QueueSetting = Static<typeof QueueSetting>;

export const QueueSettings = Type.Array(QueueSetting, {
  maxItems: QUEUES_MAX,
  description: 'How many jobs of a queue each server runs at once, and how many it begins in a second.',
  default: [],
  rule: `must be a list of at most ${QUEUES_MAX} queues, each with a name of its own`,
  fileOnly: true,
});
