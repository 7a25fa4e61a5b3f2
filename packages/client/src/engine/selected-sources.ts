import type { Reader } from '../state/local-state.ts';

/** Returns the sources that the device knows and the app wants; `wanted` is null if it wants all. */
export function selectedSources(reader: Reader, wanted: readonly string[] | null): readonly string[] {
  const known = Array.from(reader.entries('sources', ''), ([source]) => source);
  return known.filter((source) => wanted?.includes(source) ?? true);
}
