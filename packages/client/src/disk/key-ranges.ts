import { type JsonValue, type KeyRange, keysAbove, keysBelow, keysOf, keysWithPrefix } from '@tidemark/protocol';
import type { IndexedCondition } from '../queries/where.ts';

const RANGES: Readonly<Record<string, (operand: JsonValue) => readonly KeyRange[]>> = {
  eq: (operand) => [keysOf(operand)],
  lt: (operand) => [keysBelow(operand, false)],
  lte: (operand) => [keysBelow(operand, true)],
  gt: (operand) => [keysAbove(operand, false)],
  gte: (operand) => [keysAbove(operand, true)],
  in: (operand) => [...new Map((operand as JsonValue[]).map(keysOf).map((range) => [range.from, range])).values()],
  prefix: (operand) => [keysWithPrefix(operand as string)],
};

/** The keys that an index on the path has of the objects that fulfil the condition. */
export function keyRanges({ operator, operand }: IndexedCondition): readonly KeyRange[] {
  return RANGES[operator]?.(operand) ?? [];
}
