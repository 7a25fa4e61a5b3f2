import type { Rng } from '@tidemark/testing/kit';
import { GROUPS, type TableName, USERS } from './step.ts';

/** Rows that statements name; few, so that they meet. */
const IDS = 8;
const PARTS = ['a', 'b/c', '~d'];
/** A statement that names a row that is there does nothing. */
export const KEYS_APART = 'DO NOTHING';

type Draw = (rng: Rng) => string;
type Weighted = readonly (readonly [Draw, number])[];

const id = (rng: Rng) => rng.between(1, IDS);
const user = (rng: Rng) => (rng.chance(8) ? 'NULL' : `'@${rng.pick(USERS)}'`);
const group = (rng: Rng) => (rng.chance(8) ? 'NULL' : `'@${rng.pick(GROUPS)}'`);
const part = (rng: Rng) => `'${rng.pick(PARTS)}'`;
const word = (rng: Rng) => `w${rng.below(1_000)}`;
/** Long ones are stored out of line. */
const body = (rng: Rng) => (rng.chance(70) ? `repeat('${word(rng)} ', 700)` : `'${word(rng)}'`);

/** Statements that change rows of one table. */
const STATEMENTS: Readonly<Record<TableName, Weighted>> = {
  wares: [
    [(rng) => insertWare(rng), 6],
    [(rng) => `UPDATE wares SET price = price + 1, stock = stock - ${id(rng)} WHERE id = ${id(rng)}`, 6],
    [(rng) => `UPDATE wares SET body = ${body(rng)} WHERE id = ${id(rng)}`, 3],
    [(rng) => `UPDATE wares SET name = '${word(rng)}' WHERE id % 3 = ${rng.below(3)}`, 3],
    [(rng) => `UPDATE wares SET id = id + ${rng.pick([1, 100, 2_000])} WHERE id = ${id(rng)}`, 3],
    [(rng) => `DELETE FROM wares WHERE id = ${id(rng)}`, 4],
    [
      (rng) =>
        `INSERT INTO wares (id, name) SELECT n, 'many' FROM generate_series(${rng.between(20, 30)}, 50) n ON CONFLICT (id) DO UPDATE SET name = 'again'`,
      2,
    ],
    [() => 'TRUNCATE wares', 1],
  ],
  notes: [
    [
      (rng) =>
        `INSERT INTO notes VALUES (${id(rng)}, ${user(rng)}, '${word(rng)}', ${body(rng)}, now()) ON CONFLICT ${KEYS_APART}`,
      6,
    ],
    [(rng) => `UPDATE notes SET title = '${word(rng)}' WHERE id = ${id(rng)}`, 5],
    [(rng) => `UPDATE notes SET body = ${body(rng)} WHERE id = ${id(rng)}`, 2],
    [(rng) => `UPDATE notes SET owner = ${user(rng)} WHERE id = ${id(rng)}`, 6],
    [(rng) => `UPDATE notes SET owner = ${user(rng)}, id = id + 10 WHERE id = ${id(rng)}`, 2],
    [(rng) => `DELETE FROM notes WHERE id = ${id(rng)}`, 3],
    [() => 'TRUNCATE notes', 1],
  ],
  orders: [
    [
      (rng) =>
        `INSERT INTO orders (id, crew, note, body) VALUES (${id(rng)}, ${group(rng)}, '${word(rng)}', ${body(rng)}) ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note`,
      7,
    ],
    [(rng) => `UPDATE orders SET note = '${word(rng)}', amount = ${rng.below(100)} WHERE id = ${id(rng)}`, 5],
    [(rng) => `UPDATE orders SET body = ${body(rng)} WHERE id = ${id(rng)}`, 2],
    [(rng) => `UPDATE orders SET crew = ${group(rng)} WHERE id = ${id(rng)}`, 7],
    [(rng) => `UPDATE orders SET crew = ${group(rng)}, note = note || '.' WHERE id % 2 = ${rng.below(2)}`, 2],
    [(rng) => `UPDATE orders SET id = ${id(rng)} WHERE id = ${id(rng)}`, 3],
    [(rng) => `DELETE FROM orders WHERE id = ${id(rng)}`, 3],
    [() => 'TRUNCATE orders', 1],
  ],
  lines: [
    [
      (rng) =>
        `INSERT INTO lines VALUES (${id(rng)}, ${part(rng)}, ${id(rng)}, '${word(rng)}', ${body(rng)}) ON CONFLICT ${KEYS_APART}`,
      8,
    ],
    [(rng) => `UPDATE lines SET ware = '${word(rng)}' WHERE id = ${id(rng)}`, 4],
    [(rng) => `UPDATE lines SET order_id = ${id(rng)} WHERE id = ${id(rng)}`, 4],
    [(rng) => `UPDATE lines SET order_id = NULL WHERE id = ${id(rng)} AND part = ${part(rng)}`, 1],
    [(rng) => `UPDATE lines SET id = ${id(rng)}, part = ${part(rng)} WHERE id = ${id(rng)}`, 2],
    [(rng) => `DELETE FROM lines WHERE id = ${id(rng)} AND part = ${part(rng)}`, 3],
    [() => 'TRUNCATE lines', 1],
  ],
  members: [
    [(rng) => `INSERT INTO members VALUES (${id(rng)}, ${user(rng)}, ${group(rng)}) ON CONFLICT ${KEYS_APART}`, 8],
    [(rng) => `UPDATE members SET crew = ${group(rng)} WHERE id = ${id(rng)}`, 3],
    [(rng) => `UPDATE members SET login = ${user(rng)} WHERE id = ${id(rng)}`, 2],
    [(rng) => `DELETE FROM members WHERE id = ${id(rng)}`, 6],
    [() => 'TRUNCATE members', 1],
  ],
  users: [
    [
      (rng) => `INSERT INTO users VALUES (${id(rng)}, '@${rng.pick(USERS)}', '${word(rng)}') ON CONFLICT ${KEYS_APART}`,
      6,
    ],
    [(rng) => `UPDATE users SET name = '${word(rng)}' WHERE id = ${id(rng)}`, 3],
    [(rng) => `UPDATE users SET login = '@${rng.pick(USERS)}' WHERE id = ${id(rng)}`, 1],
    [(rng) => `DELETE FROM users WHERE id = ${id(rng)}`, 4],
  ],
};

const WEIGHTS: readonly (readonly [TableName, number])[] = [
  ['wares', 5],
  ['notes', 4],
  ['orders', 7],
  ['lines', 5],
  ['members', 3],
  ['users', 2],
];

export function drawStatement(rng: Rng): string {
  return rng.weighted(STATEMENTS[rng.weighted(WEIGHTS)])(rng);
}

function insertWare(rng: Rng): string {
  const price = rng.pick(['12.50', '0', "'NaN'", '123456789012345678.25']);
  const stock = rng.pick(['7', '9007199254740993', 'NULL']);
  const extra = rng.pick([`'{"a": [1, {"b": null}]}'`, `'"text"'`, `'null'`, 'NULL']);
  const photo = rng.pick([`'\\x00ff10'`, 'NULL', `''`]);
  const tags = rng.pick([`'{}'`, `ARRAY['x', NULL, 'y "z"']`, 'NULL']);
  return `INSERT INTO wares (id, name, price, stock, extra, photo, tags, body) VALUES (${id(rng)}, '${word(rng)}', ${price}, ${stock}, ${extra}, ${photo}, ${tags}, ${body(rng)}) ON CONFLICT ${KEYS_APART}`;
}
