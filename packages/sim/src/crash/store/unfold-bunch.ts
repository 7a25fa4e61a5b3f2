import type { JsonValue } from '@tidemark/protocol';
import { Dice, seededRandom } from '@tidemark/testing/kit';
import { objectId } from './names.ts';
import type { Bunch } from './operation.ts';

export type Attributes = Readonly<Record<string, JsonValue>>;

const NAMES = ['a', 'b', 'c', 'd'] as const;

/** Few, so that what is to be removed by value is often really there. */
const VALUES: readonly JsonValue[] = [0, 1, 'x', null, 'ä\u2028"\\', [1, { b: 2, a: [] }], 'long '.repeat(40)];

/** The objects of a bunch: the same ones wherever it is unfolded. */
export function unfoldBunch(writer: number, bunch: Bunch): ReadonlyMap<string, Attributes> {
  const dice = new Dice(seededRandom(bunch.salt));
  return new Map(idsOfBunch(writer, bunch).map((id) => [id, drawAttributes(dice)]));
}

export function idsOfBunch(writer: number, { first, count }: Bunch): readonly string[] {
  return Array.from({ length: count }, (_, index) => objectId(writer, first + index));
}

function drawAttributes(dice: Dice): Attributes {
  const names = NAMES.filter(() => dice.chance(40));
  return Object.fromEntries((names.length === 0 ? ['a'] : names).map((name) => [name, dice.pick(VALUES)]));
}
