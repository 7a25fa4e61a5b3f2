/** The sources whose pages a device takes with events; null: none. */
export type PageSelection = { has(source: string): boolean } | null;

const ALL = '*';
const ALL_SOURCES: PageSelection = { has: () => true };

/** Different selections that are remembered. Beyond it all are forgotten, and devices share new ones. */
const SELECTIONS_MAX = 1_000;
const known = new Map<string, PageSelection>();

/** Returns the same object for the same names, so that a selection costs no memory for each device. */
export function pageSelection(names: readonly string[]): PageSelection {
  if (names.length === 0) return null;
  if (names.includes(ALL)) return ALL_SOURCES;
  const key = JSON.stringify([...names].sort());
  const selection = known.get(key) ?? new Set(names);
  if (known.size >= SELECTIONS_MAX) known.clear();
  known.set(key, selection);
  return selection;
}
