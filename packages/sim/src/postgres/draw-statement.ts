import type { Dice } from '@tidemark/testing/kit';
import { GROUPS, type TableName, USERS } from './step.ts';

/** Rows that statements name; few, so that they meet. */
const IDS = 8;
const PARTS = ['a', 'b/c', '~d'];
const KEYS_APART = 'DO NOTHING';

type Draw = (dice: Dice) => string;
type Weighted = readonly (readonly [Draw, number])[];

const id = (dice: Dice) => dice.between(1, IDS);
const user = (dice: Dice) => (dice.chance(8) ? 'NULL' : `'@${dice.pick(USERS)}'`);
const group = (dice: Dice) => (dice.chance(8) ? 'NULL' : `'@${dice.pick(GROUPS)}'`);
const part = (dice: Dice) => `'${dice.pick(PARTS)}'`;
const word = (dice: Dice) => `w${dice.below(1_000)}`;
/** Long ones are stored out of line. */
const body = (dice: Dice) => (dice.chance(70) ? `repeat('${word(dice)} ', 700)` : `'${word(dice)}'`);

/** Statements that change rows of one table. */
const STATEMENTS: Readonly<Record<TableName, Weighted>> = {
  wares: [
    [(dice) => insertWare(dice), 6],
    [(dice) => `UPDATE wares SET price = price + 1, stock = stock - ${id(dice)} WHERE id = ${id(dice)}`, 6],
    [(dice) => `UPDATE wares SET body = ${body(dice)} WHERE id = ${id(dice)}`, 3],
    [(dice) => `UPDATE wares SET name = '${word(dice)}' WHERE id % 3 = ${dice.below(3)}`, 3],
    [(dice) => `UPDATE wares SET id = id + ${dice.pick([1, 100, 2_000])} WHERE id = ${id(dice)}`, 3],
    [(dice) => `DELETE FROM wares WHERE id = ${id(dice)}`, 4],
    [
      (dice) =>
        `INSERT INTO wares (id, name) SELECT n, 'many' FROM generate_series(${dice.between(20, 30)}, 50) n ON CONFLICT (id) DO UPDATE SET name = 'again'`,
      2,
    ],
    [() => 'TRUNCATE wares', 1],
  ],
  notes: [
    [
      (dice) =>
        `INSERT INTO notes VALUES (${id(dice)}, ${user(dice)}, '${word(dice)}', ${body(dice)}, now()) ON CONFLICT ${KEYS_APART}`,
      6,
    ],
    [(dice) => `UPDATE notes SET title = '${word(dice)}' WHERE id = ${id(dice)}`, 5],
    [(dice) => `UPDATE notes SET body = ${body(dice)} WHERE id = ${id(dice)}`, 2],
    [(dice) => `UPDATE notes SET owner = ${user(dice)} WHERE id = ${id(dice)}`, 6],
    [(dice) => `UPDATE notes SET owner = ${user(dice)}, id = id + 10 WHERE id = ${id(dice)}`, 2],
    [(dice) => `DELETE FROM notes WHERE id = ${id(dice)}`, 3],
    [() => 'TRUNCATE notes', 1],
  ],
  orders: [
    [
      (dice) =>
        `INSERT INTO orders (id, crew, note, body) VALUES (${id(dice)}, ${group(dice)}, '${word(dice)}', ${body(dice)}) ON CONFLICT (id) DO UPDATE SET note = EXCLUDED.note`,
      7,
    ],
    [(dice) => `UPDATE orders SET note = '${word(dice)}', amount = ${dice.below(100)} WHERE id = ${id(dice)}`, 5],
    [(dice) => `UPDATE orders SET body = ${body(dice)} WHERE id = ${id(dice)}`, 2],
    [(dice) => `UPDATE orders SET crew = ${group(dice)} WHERE id = ${id(dice)}`, 7],
    [(dice) => `UPDATE orders SET crew = ${group(dice)}, note = note || '.' WHERE id % 2 = ${dice.below(2)}`, 2],
    [(dice) => `UPDATE orders SET id = ${id(dice)} WHERE id = ${id(dice)}`, 3],
    [(dice) => `DELETE FROM orders WHERE id = ${id(dice)}`, 3],
    [() => 'TRUNCATE orders', 1],
  ],
  lines: [
    [
      (dice) =>
        `INSERT INTO lines VALUES (${id(dice)}, ${part(dice)}, ${id(dice)}, '${word(dice)}', ${body(dice)}) ON CONFLICT ${KEYS_APART}`,
      8,
    ],
    [(dice) => `UPDATE lines SET ware = '${word(dice)}' WHERE id = ${id(dice)}`, 4],
    [(dice) => `UPDATE lines SET order_id = ${id(dice)} WHERE id = ${id(dice)}`, 4],
    [(dice) => `UPDATE lines SET order_id = NULL WHERE id = ${id(dice)} AND part = ${part(dice)}`, 1],
    [(dice) => `UPDATE lines SET id = ${id(dice)}, part = ${part(dice)} WHERE id = ${id(dice)}`, 2],
    [(dice) => `DELETE FROM lines WHERE id = ${id(dice)} AND part = ${part(dice)}`, 3],
    [() => 'TRUNCATE lines', 1],
  ],
  members: [
    [(dice) => `INSERT INTO members VALUES (${id(dice)}, ${user(dice)}, ${group(dice)}) ON CONFLICT ${KEYS_APART}`, 8],
    [(dice) => `UPDATE members SET crew = ${group(dice)} WHERE id = ${id(dice)}`, 3],
    [(dice) => `UPDATE members SET login = ${user(dice)} WHERE id = ${id(dice)}`, 2],
    [(dice) => `DELETE FROM members WHERE id = ${id(dice)}`, 6],
    [() => 'TRUNCATE members', 1],
  ],
  users: [
    [
      (dice) =>
        `INSERT INTO users VALUES (${id(dice)}, '@${dice.pick(USERS)}', '${word(dice)}') ON CONFLICT ${KEYS_APART}`,
      6,
    ],
    [(dice) => `UPDATE users SET name = '${word(dice)}' WHERE id = ${id(dice)}`, 3],
    [(dice) => `UPDATE users SET login = '@${dice.pick(USERS)}' WHERE id = ${id(dice)}`, 1],
    [(dice) => `DELETE FROM users WHERE id = ${id(dice)}`, 4],
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

export function drawStatement(dice: Dice): string {
  return dice.weighted(STATEMENTS[dice.weighted(WEIGHTS)])(dice);
}

function insertWare(dice: Dice): string {
  const price = dice.pick(['12.50', '0', "'NaN'", '123456789012345678.25']);
  const stock = dice.pick(['7', '9007199254740993', 'NULL']);
  const extra = dice.pick([`'{"a": [1, {"b": null}]}'`, `'"text"'`, `'null'`, 'NULL']);
  const photo = dice.pick([`'\\x00ff10'`, 'NULL', `''`]);
  const tags = dice.pick([`'{}'`, `ARRAY['x', NULL, 'y "z"']`, 'NULL']);
  return `INSERT INTO wares (id, name, price, stock, extra, photo, tags, body) VALUES (${id(dice)}, '${word(dice)}', ${price}, ${stock}, ${extra}, ${photo}, ${tags}, ${body(dice)}) ON CONFLICT ${KEYS_APART}`;
}
