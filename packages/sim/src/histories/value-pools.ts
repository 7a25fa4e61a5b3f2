import type { JsonValue } from '@tidemark/protocol';
import type { Rng } from '@tidemark/testing/kit';
import type { ModelPartition } from '../model/partition.ts';
import { ownerMark } from './partitions.ts';

/**
 * Ids and attribute names that often cause bugs: members of every JavaScript object, array indexes (which objects order
 * differently), names that differ only in their Unicode normal form, long ones.
 */
const IDS = ['1', '10', 'a', 'b', 'constructor', 'toString', 'id', 'é', 'e\u0301', '😀', 'a*b', ' ', 'x'.repeat(200)];
const ATTRIBUTES = ['name', 'id', 'constructor', 'hasOwnProperty', '0', 'put', 'ключ', '"\\/', 'token'];

/** The ids, attributes and values of one history. The pools are small, so that writes often meet. */
export class ValuePools {
  readonly #rng: Rng;
  readonly #ids: readonly string[];
  readonly #attributes: readonly string[];
  readonly #valueCount: number;
  #serial = 0;

  constructor(rng: Rng) {
    this.#rng = rng;
    this.#ids = rng.shuffle(IDS).slice(0, rng.between(2, 8));
    this.#attributes = rng.shuffle(ATTRIBUTES).slice(0, rng.between(1, 4));
    this.#valueCount = rng.between(2, 16);
  }

  ids(most: number): string[] {
    return this.#rng.shuffle(this.#ids).slice(0, this.#rng.between(1, most));
  }

  /** Returns at least `least` different attributes. */
  attributes(least: number): string[] {
    const count = this.#rng.between(least, this.#attributes.length);
    return this.#rng.shuffle(this.#attributes).slice(0, count);
  }

  value(partition: ModelPartition): JsonValue {
    // A value that is written once shows where it came from.
    if (this.#rng.chance(15)) return `${ownerMark(partition)}${++this.#serial}`;
    return this.#rng.pick(commonValues(ownerMark(partition)).slice(0, this.#valueCount));
  }
}

function commonValues(mark: string): JsonValue[] {
  return [
    mark,
    null,
    { by: mark, list: [1, null, { deep: [mark] }], constructor: 'c', put: {} },
    '',
    0,
    true,
    [mark, []],
    {},
    `${mark}😀é`,
    [],
    'e\u0301',
    '\u0000\u2028"\\</script>',
    false,
    -1.5e-7,
    9_007_199_254_740_991,
    { b: 1, a: { z: null, y: [{}] } },
  ];
}
