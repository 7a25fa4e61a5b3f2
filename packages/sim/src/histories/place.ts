/**
 * The world of a simulation: a few sources and users whose names would meet if anybody joined them with a separator
 * (source `S` of user `a:b`, source `S:a` of user `b`).
 */
export interface Place {
  readonly source: string;
  /** Null: the data is shared by all users. */
  readonly user: string | null;
}

export const SHARED_SOURCE = 'Shared';
export const USER_SOURCES = ['S', 'S:a'] as const;
export const USERS = ['b', 'a:b'] as const;

export const PLACES: readonly Place[] = [
  ...USER_SOURCES.flatMap((source) => USERS.map((user) => ({ source, user }))),
  { source: SHARED_SOURCE, user: null },
];

/** A text for a place that no other place has. */
export function placeKey(place: Place): string {
  return JSON.stringify([place.source, place.user]);
}

/**
 * The mark inside the values written to a place. Whoever finds the mark of one place in the data of another has found
 * a leak. It must survive JSON text unescaped, so it contains no quotes.
 */
export function ownerMark(place: Place): string {
  return `«${place.source}|${place.user ?? ''}»`;
}
