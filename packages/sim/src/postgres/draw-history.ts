import { Rng, seededRandom } from '@tidemark/testing/kit';
import { drawStatement, KEYS_APART } from './draw-statement.ts';
import {
  DEVICE_USERS,
  type MappingChoice,
  OPTIONAL_TABLES,
  type PostgresHistory,
  type Step,
  type Transaction,
} from './step.ts';

const STEPS_MIN = 8;
const STEPS_MAX = 20;
const STATEMENTS_MAX = 5;
/** Small batches meet in the middle of transactions. */
const BATCHES = [1, 3, 10, 10_000];
/** A chunk of the first copy has 500 rows. */
const MANY_WARES = 1_200;
const FEW_WARES = 12;
const PROCESSES = ['connector', 'tidemark', 'postgres'] as const;
/** Calls of the connector after which something happens. */
const CALLS_MAX = 25;
const PUSHES_MAX = 6;
const STREAM_BYTES_MAX = 6_000;
const CHUNKS_MAX = 8;

/** In percent: how often a history is one scene, whose steps seldom follow each other by chance. */
const SCENE_CHANCE = 30;

/** Which seeds have the scene of many owners. By the seed, so that all others keep their histories. */
const OWNERS_EVERY = 10;
const OWNERS_REST = 9;

/** How often each kind of step is drawn. */
const WEIGHTS: readonly (readonly [Step['kind'], number])[] = [
  ['transactions', 45],
  ['catch_up', 12],
  ['pull', 10],
  ['kill', 9],
  ['cut_calls', 4],
  ['cut_pushes', 4],
  ['cut_stream', 5],
  ['hold_chunk', 5],
  ['restart', 4],
  ['remap', 4],
  ['alter', 4],
  ['drop_slot', 2],
  ['fail_over', 1],
];

/** Columns that are added, renamed and taken away; a statement that does not fit does nothing. */
const ALTERATIONS = [
  'ALTER TABLE wares ADD COLUMN added int DEFAULT 7',
  'ALTER TABLE wares RENAME COLUMN added TO renamed',
  'ALTER TABLE wares DROP COLUMN renamed',
  `ALTER TABLE orders ADD COLUMN added text NOT NULL DEFAULT 'x'`,
  'ALTER TABLE orders RENAME COLUMN added TO renamed',
  'ALTER TABLE orders ALTER COLUMN amount TYPE text',
] as const;

export function drawHistory(seed: number): PostgresHistory {
  const rng = new Rng(seededRandom(seed));
  const wares = rng.chance(20) ? MANY_WARES : FEW_WARES;
  const batchRowsMax = rng.pick(BATCHES);
  const mapping = rng.chance(80) ? { tables: OPTIONAL_TABLES, hasMade: true } : drawMapping(rng);
  const drawn = drawStory(rng, seed);
  return { seed, wares, batchRowsMax, mapping, steps: withOneFailOver(drawn) };
}

function drawStory(rng: Rng, seed: number): readonly Step[] {
  if (seed % OWNERS_EVERY === OWNERS_REST) return drawOwners(rng);
  return rng.chance(SCENE_CHANCE) ? drawScene(rng) : drawSteps(rng);
}

/** Rows of several users and groups are pushed in one call, for one user who comes later. */
function drawOwners(rng: Rng): readonly Step[] {
  const committed = (...statements: readonly string[]): Step => ({
    kind: 'transactions',
    transactions: [{ statements, isRolledBack: false }],
    turns: statements.map(() => 0),
  });
  const text = `w${rng.below(1_000)}`;
  const added = [
    `INSERT INTO notes SELECT n, (ARRAY['@ann', '@bob', '@max', '@eve'])[1 + n % 4], '${text}', 'b', now() FROM generate_series(20, 27) n`,
    `INSERT INTO orders (id, crew, note) SELECT n, (ARRAY['@north', '@south', '@east'])[1 + n % 3], '${text}' FROM generate_series(20, 25) n`,
  ];
  const changed = [
    `UPDATE notes SET title = '${text} again' WHERE id >= 20`,
    `UPDATE orders SET note = '${text} again', crew = (ARRAY['@north', '@south', '@east'])[1 + (id + ${rng.below(2)}) % 3] WHERE id >= 20`,
  ];
  const caughtUp: Step = { kind: 'catch_up' };
  const cut = rng.chance(50) ? [drawCutPush(rng)] : [];
  const comes = `INSERT INTO users VALUES (7, '@max', 'Max') ON CONFLICT ${KEYS_APART}`;
  const ends = [committed(...changed), committed(comes), drawStep(rng, 'pull')];
  return [caughtUp, ...cut, committed(...added), caughtUp, ...ends];
}

function drawSteps(rng: Rng): readonly Step[] {
  const length = rng.between(STEPS_MIN, STEPS_MAX);
  return Array.from({ length }, () => drawStep(rng, rng.weighted(WEIGHTS)));
}

function drawScene(rng: Rng): readonly Step[] {
  const change = () => drawTransactions(rng);
  const pull = drawStep(rng, 'pull');
  const scenes: readonly (() => readonly Step[])[] = [
    // Calls fail while a transaction is applied.
    () => [{ kind: 'catch_up' }, drawCutPush(rng), change(), { kind: 'catch_up' }, pull],
    // Rows change while a chunk of them is read.
    () => [{ kind: 'catch_up' }, drawStep(rng, 'hold_chunk'), { kind: 'drop_slot' }, change(), { kind: 'catch_up' }],
    // Nothing fails.
    () => [{ kind: 'catch_up' }, change(), { kind: 'catch_up' }, change(), pull],
  ];
  return rng.pick(scenes)();
}

/** The first push for the next transaction, or one soon after it. */
function drawCutPush(rng: Rng): Step {
  return { kind: 'cut_pushes', after: rng.pick([0, 0, 0, 1, 2]), count: 1, isAnswered: rng.chance(20) };
}

/** A standby is a copy of the whole server, which takes seconds. */
function withOneFailOver(steps: readonly Step[]): readonly Step[] {
  const first = steps.findIndex(({ kind }) => kind === 'fail_over');
  return steps.filter(({ kind }, index) => kind !== 'fail_over' || index === first);
}

function drawStep(rng: Rng, kind: Step['kind']): Step {
  switch (kind) {
    case 'transactions':
      return drawTransactions(rng);
    case 'catch_up':
    case 'drop_slot':
      return { kind };
    case 'pull':
      return { kind, device: rng.below(DEVICE_USERS.length) };
    case 'kill':
      return {
        kind,
        process: rng.pick(PROCESSES),
        calls: rng.between(1, CALLS_MAX),
        isAnswered: rng.chance(50),
      };
    case 'cut_pushes':
      return { kind, after: rng.below(PUSHES_MAX), count: rng.between(1, 3), isAnswered: rng.chance(30) };
    case 'cut_calls':
      return { kind, after: rng.below(CALLS_MAX), count: rng.between(1, 3), isAnswered: rng.chance(50) };
    case 'cut_stream':
      return { kind, bytes: rng.between(1, STREAM_BYTES_MAX) };
    case 'hold_chunk':
      return { kind, at: rng.pick(['read', 'mark']), chunks: rng.below(CHUNKS_MAX) };
    case 'restart':
      return { kind, isKilled: rng.chance(60) };
    case 'remap':
      return { kind, mapping: drawMapping(rng) };
    case 'alter':
      return { kind, statement: rng.pick(ALTERATIONS) };
    case 'fail_over':
      return { kind, lags: rng.chance(40) };
  }
}

function drawMapping(rng: Rng): MappingChoice {
  return { tables: OPTIONAL_TABLES.filter(() => rng.chance(70)), hasMade: rng.chance(50) };
}

function drawTransactions(rng: Rng): Step {
  const transactions = Array.from(
    {
      length: rng.weighted([
        [1, 60],
        [2, 30],
        [3, 10],
      ]),
    },
    () => drawTransaction(rng),
  );
  const turns = transactions.flatMap(({ statements }, index) => statements.map(() => index));
  return { kind: 'transactions', transactions, turns: locksTables(transactions) ? turns : rng.shuffle(turns) };
}

/** Nobody can read a table that was truncated before the transaction has ended. */
function locksTables(transactions: readonly Transaction[]): boolean {
  return transactions.some(({ statements }) => statements.some((statement) => statement.startsWith('TRUNCATE')));
}

function drawTransaction(rng: Rng): Transaction {
  const statements = Array.from({ length: rng.between(1, STATEMENTS_MAX) }, () => drawStatement(rng));
  return { statements: rng.chance(15) ? withSavepoint(rng, statements) : statements, isRolledBack: rng.chance(10) };
}

/** Some of the statements are undone, and the transaction goes on. */
function withSavepoint(rng: Rng, statements: readonly string[]): readonly string[] {
  const from = rng.below(statements.length);
  const to = rng.between(from + 1, statements.length);
  return [
    ...statements.slice(0, from),
    'SAVEPOINT before',
    ...statements.slice(from, to),
    'ROLLBACK TO before',
    ...statements.slice(to),
  ];
}
