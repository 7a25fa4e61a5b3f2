import type { SourceSchema, Step } from '@tidemark/protocol';

/** A source as types are made of it. */
export interface DescribedSource {
  readonly name: string;
  /** The version of its schema, from 1. */
  readonly version: number;
  /** The steps to each version from the one before: `steps[0]` leads from 1 to 2. */
  readonly steps: readonly (readonly Step[])[];
  /** Null: the source has none, so its attributes may be anything. */
  readonly schema: SourceSchema | null;
  /** The attributes that hold ids of objects of another source: attribute → source. */
  readonly references: Readonly<Record<string, string>>;
}

/** Returns the sources in the order in which they are written, whatever order they come in. */
export function sortedSources(sources: readonly DescribedSource[]): readonly DescribedSource[] {
  return [...sources].sort((left, right) => compareText(left.name, right.name));
}

/** Returns the members of a record in the order in which they are written. */
export function sortedEntries<T>(record: Readonly<Record<string, T>> = {}): readonly (readonly [string, T])[] {
  return Object.entries(record).sort(([left], [right]) => compareText(left, right));
}

/** By code units, which is the same on every machine. */
function compareText(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}
