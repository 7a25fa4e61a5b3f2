import { closed, count, flag, moment, nullableCount, nullableMoment, nullableText, text, texts } from '../annotated.ts';
import { type Static, Type } from '../typebox.ts';

const STATES = ['starting', 'connecting', 'streaming', 'waiting', 'stopped'] as const;
const PHASES = ['waiting', 'copying', 'verifying', 'ready', 'removing'] as const;
const TABLES_MAX = 1_000;
const SAMPLES_MAX = 10;

/** How far a table is. */
export const ConnectorTable = Type.Object(
  {
    table: text('The table.', 'public.orders'),
    source: nullableText('The source that its rows go to; null: they become users or members.', 'orders'),
    phase: Type.Enum([...PHASES], {
      description:
        '`waiting`: it will be copied; `copying`; `verifying`: what is stored is compared with the table; `ready`: its changes follow; `removing`: it is no longer in the mapping.',
    }),
    rows: count('Rows copied since the connector began, or so far.', 120_000),
    estimate: nullableCount('About how many rows the table has; null: not known.', 480_000),
    percent: nullableCount('How much of the copy is done; null: not known.', 25),
    rows_per_s: count('Rows copied in a second.', 9_000),
  },
  { ...closed, title: 'ConnectorTable', description: 'The progress of one table.' },
);
export type ConnectorTable = Static<typeof ConnectorTable>;

export const ConnectorSlot = Type.Object(
  {
    name: text('The name of the replication slot.', 'tidemark'),
    active: flag('True: a connection reads it.'),
    wal_status: nullableText(
      'What Postgres says: `reserved`, `extended`, `unreserved`, `lost`; null: nothing.',
      'reserved',
    ),
    invalidation_reason: nullableText('Why it can never be used again; null: it can, or Postgres does not say.', null),
    retained_bytes: nullableCount('Log that the database keeps for it.', 16_384),
    safe_bytes: nullableCount(
      'Log that can still be written before the slot is in danger; null: any amount.',
      1_000_000,
    ),
    failover: flag('True: standbys have it, too.'),
  },
  { ...closed, title: 'ConnectorSlot', description: 'The replication slot, as the database saw it last.' },
);
export type ConnectorSlot = Static<typeof ConnectorSlot>;

const Problems = Type.Object(
  {
    count: count('How many there are.', 1),
    samples: Type.Array(
      Type.Object(
        {
          table: text('The table.', 'public.orders'),
          key: text('The key of the row.', '17'),
          reason: text('Why it is not stored.', 'the key is longer than 512 bytes'),
        },
        { ...closed, title: 'ConnectorProblem', description: 'A row that cannot be stored.' },
      ),
      { maxItems: SAMPLES_MAX, description: 'The first of them.' },
    ),
  },
  { ...closed, title: 'ConnectorProblems', description: 'Rows that cannot be stored.' },
);

const Waiting = Type.Object(
  {
    count: count('How many users and parents are waited for.', 1),
    samples: Type.Array(
      Type.Object(
        {
          kind: Type.Enum(['user', 'parent'], { description: 'What is missing.' }),
          table: text('The table whose rows wait.', 'public.orders'),
          name: text('The login, or the key of the parent.', 'ada'),
        },
        { ...closed, title: 'ConnectorWaiting', description: 'What rows wait for.' },
      ),
      { maxItems: SAMPLES_MAX, description: 'The first of them.' },
    ),
  },
  { ...closed, title: 'ConnectorWaitingRows', description: 'Users and parents that rows wait for.' },
);

const report = {
  kind: Type.Literal('postgres', { description: 'The kind of database.' }),
  state: Type.Enum([...STATES], {
    description:
      '`starting`: nothing was heard yet; `streaming`: connected; `waiting`: the last attempt failed, and it will try again; `stopped`: it was told to end.',
  }),
  runs_in: Type.Enum(['server', 'process'], {
    description: '`server`: a Tidemark server runs it; `process`: `tidemark connect postgres` does.',
  }),
  server: nullableText('The machine and process that run it; null: none yet.', 'sync-1, process 4711'),
  fresh_at: nullableMoment('Everything that was committed by then is stored; null: not known yet.'),
  position: nullableText('The position in the log up to which everything is stored.', '16/B374D848'),
  rows_total: count('Rows applied since it began to run.', 480_000),
  rows_per_s: count('Rows applied in a second, lately.', 120),
  slot: Type.Union([ConnectorSlot, Type.Null()], {
    description: 'The replication slot; null: not known, because the database cannot be asked, or there is none.',
    examples: [null],
  }),
  tables: Type.Array(ConnectorTable, { maxItems: TABLES_MAX, description: 'The tables of the mapping.' }),
  error: Type.Union(
    [
      Type.Object(
        { at: moment('When it happened.'), message: text('What failed.', 'connect ECONNREFUSED 10.0.0.7:5432') },
        { ...closed, title: 'ConnectorError', description: 'A failure of a connector.' },
      ),
      Type.Null(),
    ],
    { description: 'The last failure; null: none since it began to run.', examples: [null] },
  ),
  healed: Type.Union(
    [
      Type.Object(
        { at: moment('When it was noticed.'), reason: text('What had happened.', 'slot_lost') },
        {
          ...closed,
          title: 'ConnectorHealing',
          description: 'A comparison of everything, because changes may have been missed.',
        },
      ),
      Type.Null(),
    ],
    { description: 'When everything was compared last; null: not since it began to run.', examples: [null] },
  ),
  problems: Problems,
  waiting: Waiting,
};

/** What a connector says about itself. */
export const ConnectorReport = Type.Object(
  {
    ...report,
    lag_ms: nullableCount(
      'How far it is behind, by a heartbeat through the log; null: that cannot be measured now.',
      40,
    ),
  },
  { ...closed, title: 'ConnectorReport', description: 'What a connector does.' },
);
export type ConnectorReport = Static<typeof ConnectorReport>;

export const ConnectorFault = Type.Object(
  {
    code: Type.Enum(['behind', 'silent', 'not_connected', 'slot_lost', 'slot_in_danger', 'rows_refused'], {
      description: 'What is wrong.',
    }),
    message: text('The same in words.', 'the last report is 5 min old'),
  },
  { ...closed, title: 'ConnectorFault', description: 'Something that somebody should look at.' },
);
export type ConnectorFault = Static<typeof ConnectorFault>;

export const Connector = Type.Object(
  {
    name: text('The name of the connector.', 'field'),
    ...report,
    lag_ms: count('How far it is behind. A report that does not come counts: its age is added.', 40),
    reported_at: moment('When the last report came.'),
    is_configured: flag('True: the server that answers has it in its configuration.'),
    faults: Type.Array(ConnectorFault, { description: 'What is wrong; empty: nothing.' }),
  },
  { ...closed, title: 'Connector', description: 'A connector, as of its last report.' },
);
export type Connector = Static<typeof Connector>;

export const ConnectorFinding = Type.Object(
  {
    code: text('A stable name.', 'wal_level'),
    level: Type.Enum(['error', 'warning', 'notice'], {
      description:
        '`error`: the connector cannot work, or would lose changes; `warning`: it is risky; `notice`: good to know.',
    }),
    message: text('What is so, and what follows from it.', 'wal_level is replica'),
    sql: texts('The statements that mend it, in order.', ['ALTER SYSTEM SET wal_level = logical']),
  },
  { ...closed, title: 'ConnectorFinding', description: 'Something to mend or to know in a database.' },
);
export type ConnectorFinding = Static<typeof ConnectorFinding>;

export const ConnectorCheck = Type.Object(
  {
    name: text('The name of the connector.', 'field'),
    findings: Type.Array(ConnectorFinding, { description: 'What was found; what stops the connector comes first.' }),
  },
  { ...closed, title: 'ConnectorCheck', description: 'What a database lacks for its connector.' },
);
export type ConnectorCheck = Static<typeof ConnectorCheck>;
