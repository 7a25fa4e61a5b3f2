import type { LocalKey, LocalRow } from '../ports/local-store.ts';

/** The fact that holds the objects which the live queries of the device showed last. */
export const LAST_RESULTS: LocalKey = ['', 'last_results'];

/** Keys and values of the table `objects`. */
export type LastResults = readonly (readonly [first: string, id: string, value: LocalRow['value']])[];
