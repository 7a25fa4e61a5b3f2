import { ClientError } from '../client-error.ts';

/** Reads `limit` or `offset` of a query. */
export function countOf(name: string, count: number): number {
  if (count === Number.POSITIVE_INFINITY || (Number.isInteger(count) && count >= 0)) return count;
  throw new ClientError('invalid_request', `"${name}": expected a whole number from 0, got ${String(count)}`);
}
