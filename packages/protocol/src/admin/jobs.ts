import { closed, count, flag, moment, nullableText, text } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

export const JobState = Type.Union(
  [Type.Literal('due'), Type.Literal('delayed'), Type.Literal('waiting'), Type.Literal('leased'), Type.Literal('dead')],
  {
    title: 'JobState',
    description:
      '`due`: it can run; `delayed`: its time has not come; `waiting`: another job of the same order comes first; `leased`: it runs; `dead`: all its attempts failed.',
  },
);
export type JobState = Static<typeof JobState>;

/** A queue of jobs, with the number of jobs in each state. */
export const JobQueue = Type.Object(
  {
    queue: text('The name of the queue.', 'uploads'),
    paused: flag('True: no job of the queue is begun until it is resumed.'),
    counts: Type.Object(
      {
        due: count('Jobs that can run.', 3),
        delayed: count('Jobs whose time has not come.', 1),
        waiting: count('Jobs behind another job of the same order.', 0),
        leased: count('Jobs that run.', 2),
        dead: count('Jobs whose attempts all failed.', 0),
      },
      { ...closed, description: 'How many jobs are in which state.' },
    ),
    lag_ms: count('For how many milliseconds the oldest due job has been due.', 120),
  },
  { ...closed, title: 'JobQueue', description: 'A queue of jobs.' },
);
export type JobQueue = Static<typeof JobQueue>;

/** A job, without its payload. */
export const Job = Type.Object(
  {
    id: text('The id of the job.', 'j-1f9'),
    kind: text('What kind of work it is.', 'upload'),
    state: JobState,
    order: nullableText('Jobs of the same order run one after the other; null: it has none.', null),
    attempt: count('How many attempts there were.', 1),
    attempts_max: Type.Integer({ minimum: 1, description: 'How many attempts it has.', examples: [5] }),
    enqueued_at: moment('When it was enqueued.'),
    due_at: moment('When it is or was due.'),
    last_reason: nullableText('Why the last attempt failed; null: none did.', null),
  },
  { ...closed, title: 'Job', description: 'A job, without its payload.' },
);
export type Job = Static<typeof Job>;

export const JobPage = Type.Object(
  {
    jobs: Type.Array(Job, { description: 'The jobs of this page.' }),
    next: nullableText('`after` of the next page; null: this is the last.', null),
  },
  { ...closed, title: 'JobPage', description: 'A page of jobs.' },
);
export type JobPage = Static<typeof JobPage>;

export const JobRetried = Type.Object(
  { retried: text('The id of the job.', 'j-1f9') },
  { ...closed, title: 'JobRetried', description: 'A dead job that is due again.' },
);
export type JobRetried = Static<typeof JobRetried>;

export const JobRemoved = Type.Object(
  { removed: text('The id of the job.', 'j-1f9') },
  { ...closed, title: 'JobRemoved', description: 'A job that was removed.' },
);
export type JobRemoved = Static<typeof JobRemoved>;
