import { shownText, valueIn } from './cell-value.ts';
import { ID_FIELD } from './object-conditions.ts';

const ATTRIBUTES_MAX = 50;
/** Characters that fit into a column of weight 1. */
const UNITS = 13;
const WEIGHT_MIN = 0.75;
const WEIGHT_MAX = 2.5;

/** Columns with the share of the width that they get, in the order in which they were seen: the id, then attributes. */
export type ColumnWeights = ReadonlyMap<string, number>;

interface Row {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
}

type Rows = readonly (Row | undefined)[];

/**
 * Adds the id and the attributes that were not seen before, weighed by their longest text. The others keep their weight, so that no column
 * moves while rows are read.
 */
export function addWeights(known: ColumnWeights, rows: Rows): ColumnWeights {
  const weights = new Map(known);
  const texts = (text: (row: Row) => string) => rows.map((row) => (row === undefined ? '' : text(row)));
  for (const row of rows) {
    // The check box stands before the id.
    if (row !== undefined && !weights.has(ID_FIELD)) weights.set(ID_FIELD, weightOf(texts(({ id }) => `[] ${id}`)));
    for (const name of Object.keys(row?.attributes ?? {}))
      if (!weights.has(name) && weights.size <= ATTRIBUTES_MAX)
        weights.set(name, weightOf([name, ...texts((one) => shownText(valueIn(one, name)))]));
  }
  return weights;
}

export function attributesIn(weights: ColumnWeights): readonly string[] {
  return [...weights.keys()].filter((name) => name !== ID_FIELD);
}

function weightOf(texts: readonly string[]): number {
  const units = Math.max(...texts.map(({ length }) => length));
  return Math.min(WEIGHT_MAX, Math.max(WEIGHT_MIN, units / UNITS));
}
